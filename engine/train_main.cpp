// train: trains a network with one of several synchronisation algorithms and writes a record. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/interrupt.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/sweep/outcome.hpp"
#include "engine/sweep/runner.hpp"
#include "engine/train/command_line.hpp"
#include "engine/train/launch.hpp"
#include "engine/train/memory_report.hpp"
#include "engine/train/noise_record.hpp"
#include "engine/train/plot_command.hpp"
#include "engine/train/screen.hpp"

namespace {

using namespace lockstep;

std::vector<std::string> model_files_of(const train::Request& request) {
  std::map<std::string, std::string> files;
  model::graph_of(request.model, files);
  std::vector<std::string> paths;
  for (const auto& [path, digest] : files) paths.push_back(path);
  if (!request.init.empty()) paths.push_back(request.init);
  return paths;
}

/// Refuses to overwrite a checkpoint. It may contain hours of work, and its run may have ended.
void keep_what_was_trained(const train::Request& request) {
  if (request.checkpoint.empty() || request.resume || request.overwrite) return;
  if (std::filesystem::exists(request.checkpoint))
    throw InputError(request.checkpoint +
                     ": --checkpoint: the state of a run is there; allowed: --resume to go on with "
                     "it, --overwrite to begin anew");
}

/// 128 + the signal, as in shells. A process that received no signal itself reports SIGTERM.
int exit_code_of(const std::string& status) {
  if (status == "interrupted") return 128 + (interruption() != 0 ? interruption() : SIGTERM);
  return status == "diverged" ? 1 : 0;
}

int run(const train::Request& request, const train::Settings& settings, const std::vector<std::string>& argv,
        sync::Processes& processes) {
  if (request.memory_plan) {
    std::map<std::string, std::string> inputs;
    print(train::memory_plan_text(model::graph_of(request.model, inputs), settings));
    return 0;
  }
  std::optional<LockBeside> lock;
  if (processes.rank() == 0) {
    check_outputs({request.output, request.checkpoint, request.weights}, model_files_of(request));
    if (!request.checkpoint.empty()) lock.emplace(request.checkpoint);
    keep_what_was_trained(request);
  }
  if (!request.checkpoint.empty()) note_interruptions();
  train::Trainer trainer(settings, argv, &processes);
  if (processes.rank() != 0) {
    train::Observer nobody;
    return exit_code_of(trainer.run(nobody).at("status"));
  }
  train::Screen screen(!request.quiet && has_drawable_stderr(), !request.quiet, settings.request.epochs);
  const Json record = trainer.run(screen);
  if (record.at("status") == "interrupted") {
    std::fprintf(stderr, "train: interrupted after %lld epochs, %lld iterations; --resume goes on from %s\n",
                 record.at("epochs").get<long long>(), record.at("iterations").get<long long>(),
                 request.checkpoint.c_str());
    return exit_code_of("interrupted");
  }
  print(train::summary_text(record));
  print(train::noise_command_text(record, request.output));
  if (record.at("status") != "diverged") return 0;
  std::fputs("train: the loss or the model is not finite: training has diverged; a lower --learning-rate may help\n",
             stderr);
  if (!request.weights.empty()) std::fprintf(stderr, "train: %s is not written\n", request.weights.c_str());
  return 1;
}

int exit_code_of_error(const std::exception& error) {
  return dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1;
}

/// Runs as one of mpirun's processes, or alone. Wrong usage is the same in all processes, and process 0 reports it. Any
/// other error may occur in one process only, which then ends all of them.
int run_with_others(const train::Request& request, int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const std::unique_ptr<sync::Processes> processes = train::join_processes(argc, argv);
  train::Settings settings;
  try {
    settings = train::resolve(request, processes->count());
  } catch (const InputError& error) {  // reported before MPI ends: a launcher may then stop the other processes
    if (processes->rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  try {
    return run(request, settings, words, *processes);
  } catch (const std::exception& error) {
    if (processes->count() == 1) throw;
    std::fprintf(stderr, "train, process %d: %s\n", processes->rank(), error.what());
    processes->abort(exit_code_of_error(error));
    return exit_code_of_error(error);
  }
}

struct SweepOptions {
  std::string file;
  sweep::Means means;
  sweep::RunnerOptions runner;
  bool only_shows = false;
  bool collects = false;
  bool quiet = false;
};

CLI::App* declare_sweep(CLI::App& app, SweepOptions& o) {
  CLI::App* sub = app.add_subcommand("sweep", "Runs every training run that a file declares, or what is left of them");
  sub->add_option(
         "file", o.file,
         "Sweep file (schema lockstep/sweep/1: its keys are in engine/sweep/README.md), or the folder or study "
         "(FOLDER.jsonl) of an earlier sweep, to go on with")
      ->required();
  sub->add_option("-o,--output", o.runner.folder, "Folder of the records (of an earlier sweep: its own)");
  sub->add_option("--jobs", o.runner.jobs, "Runs at a time (as many as the cores bear)")->check(CLI::Range(1, 4096));
  sub->add_option("--threads", o.means.threads, "Threads of a run (1)")->check(CLI::Range(1, 1024));
  sub->add_option("--data-dir", o.means.data_dir, "Folder that holds the data's folder (build/data)");
  sub->add_flag("--show", o.only_shows, "Shows what the folder holds, and does not train");
  sub->add_flag("--collect", o.collects, "Then writes all records to one file, FOLDER.jsonl");
  sub->add_flag("--quiet", o.quiet, "No line per run");
  sub->footer("Example:\n  train sweep batches.json -o batches --jobs 2");
  return sub;
}

int run_sweep(SweepOptions o, const std::vector<std::string>& argv) {
  train::forget_launcher();  // callers work on the sweep independently, without MPI
  if (o.runner.folder.empty() && !sweep::is_sweep_output(o.file))
    throw InputError("train sweep: -o is missing; allowed: -o FOLDER, for the records");
  if (o.runner.folder.empty())
    o.runner.folder =
        std::filesystem::is_directory(o.file) ? o.file : std::filesystem::path(o.file).replace_extension().string();
  const sweep::Sweep sweep = sweep::load_sweep(o.file, o.means);
  int failed = 0;
  if (!o.only_shows) {
    o.runner.program = std::filesystem::read_symlink("/proc/self/exe").string();
    o.runner.has_notes = !o.quiet;
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    if (o.runner.jobs == 0) o.runner.jobs = std::max(1, cores / o.means.threads);
    failed = sweep::run_sweep(sweep, o.runner, argv);
  }
  const sweep::Records records(o.runner.folder);
  if (o.collects) sweep::collect(sweep, records, argv);
  print(sweep::table(sweep::summary(sweep, records, argv)));
  if (failed == 0) return 0;
  std::fprintf(stderr, "train: %d runs failed; their records say why; another call tries them again\n", failed);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Trains a network with synchronous or averaging data-parallel SGD.", "train"};
  app.footer("Example:\n  train --model lenet --data mnist --algorithm sma --learners 2 --target 0.99 -o run.json");
  lockstep::train::Request request;
  lockstep::train::declare(app, request);
  bool lists_models = false;
  app.add_flag("--list-models", lists_models, "Lists the networks of the zoo, those that are trained first");
  SweepOptions sweep;
  CLI::App* const sweeps = declare_sweep(app, sweep);
  lockstep::train::PlotOptions plot;
  CLI::App* const plots = lockstep::train::declare_plot(app, plot);
  return lockstep::run_program(
      app, argc, argv,
      [&](const std::vector<std::string>& words) {
        if (lists_models) return std::fputs(lockstep::model::list_models_text().c_str(), stdout) < 0 ? 1 : 0;
        if (plots->parsed()) {
          lockstep::train::run_plot(plot);
          return 0;
        }
        return sweeps->parsed() ? run_sweep(sweep, words) : run_with_others(request, argc, argv);
      },
      lockstep::train::completion_names);
}
