#pragma once
// What `calibrate` can be asked for. Each returns the exit code; bad input throws InputError, failed work
// std::runtime_error.
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
  std::vector<std::string> models{"lenet"};  ///< built-in names, or .json files of a user's own
  ProbeOptions probes;                  ///< `models` is filled from those, `most_bytes` and `learners` from the next
  std::int64_t most_bytes = 0;          ///< 0: 64 MiB on the host, 1 GiB on CUDA
  std::vector<int> learners;            ///< that share a device; empty: usual_learners()
  std::vector<std::string> precisions;  ///< empty: device::usual_precision()
  std::vector<std::string> only;        ///< kinds of probes; empty: all
  bool is_quick = false;                ///< what a prediction needs, in a minute (probe/selection.hpp)
  SamplingOptions sampling;
  bool resume = false;
  bool only_plans = false;  ///< says what it would measure, and measures nothing
  std::string output;       ///< empty: results/profiles/ and the device's name
  bool quiet = false;
  bool has_bar = false;
  std::vector<std::string> argv;
};

struct ImportRequest {
  std::string format;
  std::vector<std::string> files;
  std::string output;
  NcclTestsOptions nccl;
  std::string library;  ///< osu, imb, gloo; ranks and nodes are those of nccl-tests
  TorchTraceOptions torch;
  double target = 0;               ///< mlperf: accuracy; 0: the benchmark's
  std::string system;              ///< mlperf: file of the system's description; empty: none
  std::string results_source;      ///< mlperf: where the logs were published
  std::string program;             ///< training-log: the program that wrote the log; empty: by its lines
  std::vector<std::string> facts;  ///< training-log: KEY=VALUE of the job
  std::vector<std::string> argv;
};

struct ScenarioRequest {
  std::string profile;
  std::string model;  ///< file; empty: that which the import of a PyTorch job wrote beside the profile, if there is one
  int batch = 0;      ///< 0: the largest that was measured
  std::string output;
};

/// Samples go to OUTPUT with ".samples.jsonl" for ".json" as they are taken, the profile to OUTPUT at the end. Without
/// `resume`, an existing sample file is refused rather than lost.
///
/// All of `processes` call it; sums go over the devices of all, and the first writes and speaks.
int measure_devices(const MeasureRequest& request, sync::Processes& processes);
/// Prints what the machine has and how it is joined.
int show_topology(const TopologySources& sources, bool is_json);
/// The formats that import_measurements() reads, by name.
std::vector<std::string> import_formats();
/// Calls import_logs(), import_results() or import_trainings(), whichever reads the request's format. Throws InputError for an unknown one.
int import_measurements(const ImportRequest& request);
/// All files into one profile. Refused rows go to standard error.
int import_logs(const ImportRequest& request);
/// Logs of MLPerf Training as published results, and as runs to a target beside them (OUTPUT with ".convergence.json").
int import_results(const ImportRequest& request);
/// Logs of trainings as records for `simulate --predict`, one per file.
int import_trainings(const ImportRequest& request);
/// A scenario of the profile's model on the measured device, its cluster inside: what measured times make meaningless
/// is filled in. Throws InputError for a profile without iterations.
int write_scenario(const ScenarioRequest& request);
int show_profile(const std::string& path);
int merge_profiles(const std::string& a, const std::string& b, const std::string& output);

}  // namespace lockstep::calib
