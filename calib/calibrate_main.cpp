// calibrate: turns measurements, or logs of other tools, into a profile for predictions. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "calib/command/commands.hpp"
#include "calib/import/training_log.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/program.hpp"
#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/train/launch.hpp"
#ifdef LOCKSTEP_WITH_CHECK
#include "sim/api/names.hpp"
#include "sim/explain/check_command.hpp"
#include "sim/explain/retarget.hpp"
#endif

namespace {

using namespace lockstep;

void declare_measuring(CLI::App& app, calib::MeasureRequest& r) {
  app.add_option("--gpus", r.gpus, "Devices to measure together; on the host, as many logical ones (1)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--device", r.device, "cuda or host (cuda)")->check(CLI::IsMember({"cuda", "host"}));
  app.add_option("--models", r.models, "Built-in models, or .json files of your own (lenet)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--batches", r.probes.batches, "Images per learner (1,2,4,8,16,32,64)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--learners", r.learners, "Learners that share a device (1; on CUDA 1,2,4,8)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 64));
  app.add_option("--precision", r.precisions, "fp32, tf32, fp16, bf16; repeatable (host: fp32; cuda: tf32)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  app.add_option("--threads", r.threads, "Threads of the host (one per core)")->check(CLI::Range(1, 1 << 20));
  app.add_option("--tolerance", r.sampling.tolerance, "Half width of the median's interval, relative (0.01)")
      ->check(number_between(1e-4, 1.0));
  app.add_option("--seconds", r.sampling.time_limit_s, "Longest time of one series (5)")
      ->check(number_between(0.01, 3600.0));
  app.add_option("--warm-up", r.sampling.warm_up_s, "Seconds before each series, and three runs at least (0.05)")
      ->check(number_between(0.0, 3600.0));
  app.add_option("--most-bytes", r.most_bytes, "Largest copy, collective and update (67108864; on CUDA 1073741824)")
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 36));
  app.add_flag("--resume", r.resume, "Goes on where a killed run stopped");
  app.add_flag_callback(
      "--once", [&r] { r.sampling.has_second_look = false; },
      "Keeps disturbed measurements; by default they are repeated");
  app.add_option("--probes", r.only, "Only these kinds: iteration, collective, copy, ... (all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--quick", r.is_quick, "Iterations and all-reduces alone, known to 3 %, in about a minute")
      ->excludes("--probes", "--seconds", "--tolerance", "--warm-up", "--once");
  app.add_flag("--plan", r.only_plans, "Says what would be measured and how long it takes, and measures nothing");
  app.add_option("-o,--output", r.output, "Profile to write (results/profiles/NAME.json of the device)");
  app.add_flag("--quiet", r.quiet, "No plan, no progress bar, no remarks");
  app.footer(
      "Under mpirun or srun every process measures its devices, and collectives go over those of all.\n\n"
      "Example:\n  calibrate --device host --gpus 2 --models lenet --batches 8,32,128 -o host.json");
}

CLI::App* declare_import(CLI::App& app, calib::ImportRequest& r) {
  CLI::App* command = app.add_subcommand("import", "Logs of other tools as a profile");
  command->add_option("FORMAT", r.format, joined(calib::import_formats()))
      ->required()
      ->check(CLI::IsMember(calib::import_formats()));
  command->add_option("files", r.files, "Logs")->required();
  command->add_option("-o,--output", r.output, "Profile to write")->required();
  command->add_option("--operation", r.nccl.operation, "nccl-tests: the collective, where the log does not say");
  command->add_option("--ranks", r.nccl.ranks, "nccl-tests, osu: GPUs or processes, where the log does not list them")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--nodes", r.nccl.nodes, "nccl-tests, osu, imb, gloo: nodes, likewise")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--library", r.library, "osu, imb, gloo: name of what was timed (mpi; gloo)");
  command->add_option("--model", r.torch.model, "torch-trace, csv, training-log: name of the model");
  command->add_option("--batch", r.torch.batch, "torch-trace: images per step")->check(CLI::Range(1, 1 << 20));
  command->add_option("--precision", r.torch.precision, "torch-trace, csv: fp32, tf32, fp16, bf16")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  command->add_option("--target", r.target, "mlperf: accuracy to reach (the benchmark's)")
      ->check(CLI::Range(1e-6, 1.0));
  command->add_option("--system", r.system, "mlperf: the submission's description of its system (JSON)");
  command->add_option("--source", r.results_source, "mlperf, training-log: where the logs are from");
  command
      ->add_option(
          "--format", r.program,
          "training-log: the program that wrote it (default: by its lines): " + joined(calib::training_formats()))
      ->check(CLI::IsMember(calib::training_formats()));
  command
      ->add_option(
          "--fact", r.facts,
          "training-log: KEY=VALUE of the job, such as gpu=H100 or gpus=16, a key of simulate --predict's records")
      ->allow_extra_args(false);
  command->footer("Example:\n  calibrate import nccl-tests all_reduce.log --operation all-reduce -o nccl.json");
  return command;
}

CLI::App* declare_scenario(CLI::App& app, calib::ScenarioRequest& r) {
  CLI::App* command = app.add_subcommand("scenario", "A scenario that predicts with a profile, for simulate");
  command->add_option("profile", r.profile, "Profile (JSON)")->required();
  command->add_option(
      "--model", r.model,
      "One of the models that were measured, or its file (the first, or PROFILE.model.json where import wrote it)");
  command->add_option("--batch", r.batch, "Samples per device (the largest that was measured)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("-o,--output", r.output, "Scenario to write")->required();
  command->footer("Example:\n  calibrate scenario profile.json -o my_job.json");
  return command;
}

CLI::App* declare_topology(CLI::App& app, calib::TopologySources& sources, bool& is_json) {
  CLI::App* command = app.add_subcommand("topology", "What this machine has: GPUs, NICs, and how they are joined");
  command->add_option("--sysfs", sources.sysfs, "Where the PCI tree is read (/sys)");
  command->add_option("--nvml", sources.nvml, "NVIDIA's management library (libnvidia-ml.so.1)");
  command->add_flag("--json", is_json, "As JSON, as it goes into a profile");
  command->footer("Example:\n  calibrate topology --json");
  return command;
}

CompletionNames completion_names() {
  CompletionNames names;
#ifdef LOCKSTEP_WITH_CHECK
  names = sim::completion_names();
#endif
  names["--models"] = model::zoo_names();
  return names;
}

// Runs as one of mpirun's processes, or alone. If all processes find the same error, the first one reports it. A
// failure in one process ends all of them.
int measure_with_others(const calib::MeasureRequest& request, int argc, char** argv) {
  const std::unique_ptr<sync::Processes> processes = train::join_processes(argc, argv);
  if (processes->count() == 1) return calib::measure_devices(request, *processes);
  try {
    return calib::measure_devices(request, *processes);
  } catch (const InputError& error) {
    if (processes->rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const FileInUse& error) {
    if (processes->rank() == 0) std::fprintf(stderr, "calibrate: %s\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "calibrate, process %d: %s\n", processes->rank(), error.what());
    processes->abort(1);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  calib::MeasureRequest measure;
  calib::ImportRequest import;
  std::string shown, output;
  std::vector<std::string> merged;
  CLI::App app("Measures this machine's devices, or imports logs, into a profile for simulate.", "calibrate");
  declare_measuring(app, measure);
  bool lists_models = false;
  app.add_flag("--list-models", lists_models, "Lists the networks of the zoo, those that are measured first");
  const CLI::App* import_command = declare_import(app, import);
  CLI::App* show = app.add_subcommand("show", "A profile as a readable report");
  show->add_option("profile", shown, "Profile (JSON)")->required();
  show->footer("Example:\n  calibrate show host.json");
  CLI::App* merge = app.add_subcommand("merge", "Two profiles of one kind of machine as one");
  merge->add_option("profiles", merged, "Profiles (JSON); the second one's samples win")->required()->expected(2);
  merge->add_option("-o,--output", output, "Profile to write")->required();
  merge->footer("Example:\n  calibrate merge old.json new.json -o both.json");
  calib::ScenarioRequest scenario;
  const CLI::App* scenario_command = declare_scenario(app, scenario);
  calib::TopologySources sources;
  bool is_json = false;
  const CLI::App* topology = declare_topology(app, sources, is_json);
#ifdef LOCKSTEP_WITH_CHECK
  sim::CheckOptions check;
  CLI::App* const check_command = sim::declare_check(app, check);
  sim::RetargetOptions retarget;
  CLI::App* const retarget_command = sim::declare_retarget(app, retarget);
#endif
  app.require_subcommand(0, 1);
  return run_program(
      app, argc, argv,
      [&](const std::vector<std::string>& words) {
        if (lists_models) return std::fputs(model::list_models_text().c_str(), stdout) < 0 ? 1 : 0;
        measure.argv = import.argv = words;
        measure.has_bar = !measure.quiet && has_drawable_stderr();
#ifdef LOCKSTEP_WITH_CHECK
        const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
        if (*check_command) return sim::answer_check(check, *check_command, cores, words);
        if (*retarget_command) return sim::answer_retarget(retarget, *retarget_command, cores);
#endif
        if (*import_command) return calib::import_measurements(import);
        if (*scenario_command) return calib::write_scenario(scenario);
        if (*show) return calib::show_profile(shown);
        if (*merge) return calib::merge_profiles(merged[0], merged[1], output);
        if (*topology) return calib::show_topology(sources, is_json);
        return measure_with_others(measure, argc, argv);
      },
      completion_names);
}
