#pragma once
// Imports logs of MLPerf Training (lines of ":::MLLOG {...}", as mlperf_logging writes them) as published results and
// as runs to a target. Each file is a run. The runs of one benchmark, platform and global batch form a group.
//
//   run_start, run_stop            time to train; an aborted run has none
//   global_batch_size, seed, submission_benchmark, submission_org, submission_platform, train_samples
//   max_sequence_length            tokens per sample; if absent, the benchmark's
//   eval_accuracy                  at "samples_count", else at "epoch_num": epochs for images, samples for text (bert,
//                                  gpt3 and llama count those)
//   tracked_stats "throughput"     samples/s; if absent, the samples or epochs of blocks over their time, else
//                                  global_batch_size over "train_step_time"
//
// The times of a group become one record, as MLPerf scores them: with at least five runs, the mean without the best and
// the worst; with fewer, the median. Its rate is the median. Facts that a log lacks come from the submission's
// description of its system (systems/NAME.json: accelerators, nodes, networks).
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

struct MlperfOptions {
  std::string
      model;  ///< in the records; empty: the benchmark's ("resnet50_v15" for resnet; with "seq" and "task" for texts)
  double target = 0;   ///< accuracy to reach; 0: by MLPerf's rules, if the benchmark's metric rises
  int gpus = 0;        ///< 0: from the system's description
  std::string source;  ///< "MLPerf Training v4.0"; empty: "MLPerf Training"
  Json system;         ///< the system's description; null: none
};

struct MlperfResults {
  Json records = Json::array();  ///< for `simulate --predict`
  Json convergence;              ///< lockstep/convergence/1 without fits; null if no run has evaluations and a target
  std::vector<std::string> said;
};

/// `logs` holds the text and name of each log. Throws InputError with file and line for malformed lines, a file without
/// a run, or runs of two models.
MlperfResults import_mlperf(const std::vector<std::pair<std::string, std::string>>& logs, const MlperfOptions& options);

}  // namespace lockstep::calib
