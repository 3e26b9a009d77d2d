#include "engine/sweep/runner.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/process_pool.hpp"
#include "engine/base/text.hpp"
#include "engine/sweep/outcome.hpp"

namespace lockstep::sweep {
namespace {

namespace fs = std::filesystem;

struct Running {
  Run run;
  int log;  ///< file descriptor of the locked log
};

std::string last_line(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, std::size_t{1} << 26, text, why)) return why;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return one_line(begin == std::string::npos ? text : text.substr(begin + 1));
}

class Runner {
 public:
  Runner(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv)
      : sweep_(sweep), options_(options), argv_(argv), records_(options.folder), processes_(options.jobs) {}

  int run() {
    write_summary();
    while (true) {
      bool all_done = true;
      start_what_can(all_done);
      if (processes_.running() > 0) {
        wait_for_some();
      } else if (all_done) {
        break;
      } else {  // another caller executes the remaining runs
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
    write_summary();
    return failed_;
  }

 private:
  std::string path(const Run& run, const char* ending) const { return records_.path_of(run, ending); }

  /// Starts runs in the order of the file while jobs are free. Sets `all_done` to false if a run is not done.
  void start_what_can(bool& all_done) {
    for (const Cell& cell : sweep_.cells) {
      for (const Run& run : cell.search) consider(run, all_done);
      for (const Run& run : known_runs(cell)) consider(run, all_done);
      if (!all_done && processes_.free() == 0) return;
    }
  }

  /// The cell's runs, known once its search has ended; empty before.
  const std::vector<Run>& known_runs(const Cell& cell) {
    std::vector<Run>& runs = runs_[cell.name];
    if (!runs.empty()) return runs;
    const Choice choice = choose_rate(records_, cell);
    if (choice.allows_runs_of(cell)) runs = runs_of(sweep_, cell, choice.learning_rate);
    return runs;
  }

  void consider(const Run& run, bool& all_done) {
    if (done_.count(run.name) > 0) return;
    if (is_done(run)) {
      std::error_code ignored;  // an earlier call may have been killed before it removed this
      fs::remove(path(run, ".checkpoint"), ignored);
      done_.insert(run.name);
      return;
    }
    all_done = false;
    if (processes_.free() > 0) try_to_start(run);
  }

  /// Runs that failed in an earlier call are tried again.
  bool is_done(const Run& run) const {
    const State state = outcome_of(records_, run).state;
    return state == State::ended || state == State::diverged;
  }

  void try_to_start(const Run& run) {
    fs::create_directories(fs::path(path(run, "")).parent_path());
    const std::string log_path = path(run, ".log");
    const int log = ::open(log_path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) throw std::runtime_error(log_path + ": cannot be written: " + std::strerror(errno));
    // Another caller may hold the lock, or may have finished the run since its record was read.
    if (!try_lock(log) || is_done(run)) {
      ::close(log);
      return;
    }
    remove_leftover_files(path(run, ".json"));
    std::vector<std::string> arguments = {"--quiet"};
    arguments.insert(arguments.end(), run.arguments.begin(), run.arguments.end());
    arguments.insert(arguments.end(), {"--checkpoint", path(run, ".checkpoint"), "--checkpoint-minutes",
                                       short_number(kCheckpointMinutes), "--resume", "-o", path(run, ".json")});
    const int process =
        processes_.start([&](const ToParent& parent) { parent.become(options_.program, arguments, log); });
    running_.emplace(process, Running{run, log});
  }

  void wait_for_some() {
    for (const ProcessEvent& event : processes_.wait(-1))
      if (event.is_end) end(event);
  }

  void end(const ProcessEvent& event) {
    const auto found = running_.find(event.process);
    const Running ended = found->second;
    running_.erase(found);
    if (is_done(ended.run)) {
      fs::remove(path(ended.run, ".checkpoint"));
    } else {
      const std::string why = event.text.empty() ? "its process ended" : event.text;
      write_failure(records_, ended.run, why + ": " + last_line(path(ended.run, ".log")));
      ++failed_;
    }
    done_.insert(ended.run.name);
    ::close(ended.log);
    note(ended.run);
    write_summary();
  }

  void note(const Run& run) const {
    if (!options_.has_notes) return;
    const Json record = outcome_of(records_, run).record;
    const Json accuracy = record.value("final_test_accuracy", Json(nullptr));
    std::fprintf(stderr, "sweep: %s: %s%s\n", run.name.c_str(), record.at("status").get<std::string>().c_str(),
                 accuracy.is_null() ? "" : (", test accuracy " + short_number(accuracy.get<double>())).c_str());
  }

  void write_summary() const {
    write_file_atomically((fs::path(options_.folder) / "sweep.json").string(),
                          summary(sweep_, records_, argv_).dump(2) + "\n");
  }

  const Sweep& sweep_;
  const RunnerOptions& options_;
  const std::vector<std::string>& argv_;
  const Records records_;
  ProcessPool processes_;
  std::map<int, Running> running_;                ///< by number of the process
  std::map<std::string, std::vector<Run>> runs_;  ///< for cells whose rate is chosen
  std::set<std::string> done_;                    ///< runs that need no more work in this call
  int failed_ = 0;
};

}  // namespace

int run_sweep(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) throw InputError(options.folder + ": cannot be made a folder: " + error.message());
  check_outputs({(fs::path(options.folder) / "sweep.json").string()});
  return Runner(sweep, options, argv).run();
}

}  // namespace lockstep::sweep
