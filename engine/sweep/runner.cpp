#include "engine/sweep/runner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
#include "engine/base/text.hpp"
#include "engine/sweep/outcome.hpp"

namespace lockstep::sweep {
namespace {

namespace fs = std::filesystem;

struct Child {
  Run run;
  int log;  ///< holds the lock
};

std::string last_line(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, std::size_t{1} << 26, text, why)) return why;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return one_line(begin == std::string::npos ? text : text.substr(begin + 1));
}

std::string death_text(int status, const std::string& log) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status)) + ": " + last_line(log);
}

/// In the child: never returns.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  const int nowhere = ::open("/dev/null", O_RDONLY);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  std::vector<std::string> copies = arguments;
  copies.insert(copies.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  std::fprintf(stderr, "%s: %s\n", program.c_str(), std::strerror(errno));
  ::_exit(127);
}

class Runner {
 public:
  Runner(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv)
      : sweep_(sweep), options_(options), argv_(argv) {}

  int run() {
    write_summary();
    while (true) {
      bool all_done = true;
      start_what_can(all_done);
      if (!children_.empty()) {
        wait_for_one();
      } else if (all_done) {
        break;
      } else {  // what is left is another caller's
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
    write_summary();
    return failed_;
  }

 private:
  std::string path(const Run& run, const char* ending) const {
    return (fs::path(options_.folder) / (run.name + ending)).string();
  }

  /// Starts runs in the order of the file while there are free jobs; `all_done` is false where runs are left.
  void start_what_can(bool& all_done) {
    for (const Cell& cell : sweep_.cells) {
      for (const Run& run : cell.search) consider(run, all_done);
      for (const Run& run : known_runs(cell)) consider(run, all_done);
      if (!all_done && static_cast<int>(children_.size()) >= options_.jobs) return;
    }
  }

  /// The cell's runs once its search has ended.
  const std::vector<Run>& known_runs(const Cell& cell) {
    std::vector<Run>& runs = runs_[cell.name];
    if (!runs.empty()) return runs;
    const Choice choice = choose_rate(options_.folder, cell);
    const bool can_run = choice.is_made && (cell.search.empty() || choice.learning_rate);
    if (can_run) runs = runs_of(sweep_, cell, choice.learning_rate);
    return runs;
  }

  void consider(const Run& run, bool& all_done) {
    if (done_.count(run.name) > 0) return;
    if (is_done(run)) {
      done_.insert(run.name);
      return;
    }
    all_done = false;
    if (static_cast<int>(children_.size()) < options_.jobs) try_to_start(run);
  }

  /// A run that failed in an earlier call is tried again.
  bool is_done(const Run& run) const {
    const State state = outcome_of(options_.folder, run).state;
    return state == State::ended || state == State::diverged;
  }

  void try_to_start(const Run& run) {
    fs::create_directories(fs::path(path(run, "")).parent_path());
    const std::string log_path = path(run, ".log");
    const int log = ::open(log_path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) throw std::runtime_error(log_path + ": cannot be written: " + std::strerror(errno));
    // Another caller may hold it, or have ended it since its record was read.
    if (!try_lock(log) || is_done(run)) {
      ::close(log);
      return;
    }
    remove_left_parts(path(run, ".json"));
    std::vector<std::string> arguments = {"--quiet"};
    arguments.insert(arguments.end(), run.arguments.begin(), run.arguments.end());
    arguments.insert(arguments.end(), {"--checkpoint", path(run, ".checkpoint"), "--checkpoint-minutes",
                                       short_number(kCheckpointMinutes), "--resume", "-o", path(run, ".json")});
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) become(options_.program, arguments, log, parent);
    children_.emplace(child, Child{run, log});
  }

  void wait_for_one() {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, 0);
    const auto found = children_.find(pid);
    if (found == children_.end()) return;
    const Child child = found->second;
    children_.erase(found);
    if (is_done(child.run)) {
      fs::remove(path(child.run, ".checkpoint"));
    } else {
      write_failure(options_.folder, child.run, death_text(status, path(child.run, ".log")));
      ++failed_;
    }
    done_.insert(child.run.name);
    ::close(child.log);
    note(child.run);
    write_summary();
  }

  void note(const Run& run) const {
    if (!options_.has_notes) return;
    const Json record = outcome_of(options_.folder, run).record;
    const Json accuracy = record.value("final_test_accuracy", Json(nullptr));
    std::fprintf(stderr, "sweep: %s: %s%s\n", run.name.c_str(), record.at("status").get<std::string>().c_str(),
                 accuracy.is_null() ? "" : (", test accuracy " + short_number(accuracy.get<double>())).c_str());
  }

  void write_summary() const {
    write_file_atomically((fs::path(options_.folder) / "sweep.json").string(),
                          summary(sweep_, options_.folder, argv_).dump(2) + "\n");
  }

  const Sweep& sweep_;
  const RunnerOptions& options_;
  const std::vector<std::string>& argv_;
  std::map<pid_t, Child> children_;
  std::map<std::string, std::vector<Run>> runs_;  ///< of cells whose rate is chosen
  std::set<std::string> done_;                    ///< nothing is left to do about it in this call
  int failed_ = 0;
};

}  // namespace

int run_sweep(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv) {
  fs::create_directories(options.folder);
  return Runner(sweep, options, argv).run();
}

}  // namespace lockstep::sweep
