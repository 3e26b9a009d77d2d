#pragma once
// The commands of `calibrate`. Each returns the exit code. Bad input throws InputError, failed work std::runtime_error.
#include <string>
#include <vector>

#include "calib/import/imported.hpp"
#include "calib/probe/probes.hpp"
#include "calib/topology/machine.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::calib {

struct MeasureRequest {
  std::string device = "cuda";
  int gpus = 1;
  int threads = 0;
  std::vector<std::string> models{"lenet"};  ///< built-in names, or .json files of a user's models
  ProbeOptions probes;                       ///< filled from the fields `models`, `most_bytes` and `learners`
  std::int64_t most_bytes = 0;               ///< 0: 64 MiB on the host, 1 GiB on CUDA
  std::vector<int> learners;                 ///< per device; empty: usual_learners()
  std::vector<std::string> precisions;       ///< empty: device::usual_precision()
  std::vector<std::string> only;             ///< kinds of probes; empty: all
  bool is_quick = false;                     ///< only what a prediction needs, in a minute (probe/selection.hpp)
  SamplingOptions sampling;
  bool resume = false;
  bool only_plans = false;  ///< prints the plan and measures nothing
  std::string output;       ///< empty: the device's name, in results/profiles/
  bool quiet = false;
  bool has_bar = false;
  std::vector<std::string> argv;
};

struct ImportRequest {
  std::string format;
  std::vector<std::string> files;
  std::string output;
  NcclTestsOptions nccl;
  std::string library;  ///< osu, imb, gloo; ranks and nodes are in `nccl`
  TorchTraceOptions torch;
  double target = 0;               ///< mlperf: accuracy; 0: the benchmark's target
  std::string system;              ///< mlperf: file with the system's description; empty: none
  std::string results_source;      ///< mlperf: where the logs were published
  std::string program;             ///< training-log: the program that wrote the log; empty: recognised by its lines
  std::vector<std::string> facts;  ///< training-log: KEY=VALUE facts about the job
  std::vector<std::string> argv;
};

struct ScenarioRequest {
  std::string profile;
  std::string model;  ///< file; empty: the model that the import of a PyTorch job wrote next to the profile, if any
  int batch = 0;      ///< 0: the largest measured batch
  std::string output;
};

/// Appends samples to OUTPUT with ".samples.jsonl" for ".json" as they are measured, and writes the profile to OUTPUT
/// at the end. Without `resume`, refuses an existing sample file, so that it is not lost.
///
/// All `processes` must call it. Collectives use the devices of all; only the first process writes and prints.
int measure_devices(const MeasureRequest& request, sync::Processes& processes);
/// Prints the machine's devices and the links between them.
int show_topology(const TopologySources& sources, bool is_json);
/// The names of the formats that import_measurements() reads.
std::vector<std::string> import_formats();
/// Calls import_logs(), import_results() or import_trainings(), depending on the request's format. Throws InputError
/// for an unknown format.
int import_measurements(const ImportRequest& request);
/// Imports all files into one profile. Prints refused rows to standard error.
int import_logs(const ImportRequest& request);
/// Imports logs of MLPerf Training as published results. Also writes them as runs to a target (OUTPUT with
/// ".convergence.json").
int import_results(const ImportRequest& request);
/// Reads training logs and writes records for `simulate --predict`, one per file.
int import_trainings(const ImportRequest& request);
/// Writes a scenario of the profile's model on the measured device, with the cluster inside. Fields that measured times
/// make irrelevant are filled in. Throws InputError for a profile without iterations.
int write_scenario(const ScenarioRequest& request);
int show_profile(const std::string& path);
int merge_profiles(const std::string& a, const std::string& b, const std::string& output);

}  // namespace lockstep::calib
