#pragma once
// Logs of MLPerf Training (lines of ":::MLLOG {...}", as mlperf_logging writes them) as published results and as runs to
// a target. Each file is a run; those of one benchmark, platform and global batch are a group.
//
//   run_start, run_stop            time to train; a run that was aborted has none
//   global_batch_size, seed, submission_benchmark, submission_org, submission_platform, train_samples
//   max_sequence_length            tokens of a sample; where there is none, the benchmark's
//   eval_accuracy                  at "samples_count", else at "epoch_num": epochs of images, samples of text (bert, gpt3
//                                  and llama count those)
//   tracked_stats "throughput"     samples/s; where there is none, blocks with a count of samples or epochs over their time,
//                                  else global_batch_size over "train_step_time"
//
// Times of a group become one record as MLPerf scores them: the mean without the best and the worst of at least five
// runs, of fewer the median; its rate is the median. What a log does not hold, the submission's description of its system
// does (systems/NAME.json: accelerators, nodes, networks).
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

struct MlperfOptions {
  std::string
      model;  ///< in the records; empty: the benchmark's ("resnet50_v15" of resnet, with "seq" and "task" of texts)
  double target = 0;   ///< accuracy to reach; 0: by the rules of MLPerf, where the benchmark has one that rises
  int gpus = 0;        ///< 0: by the system's description
  std::string source;  ///< "MLPerf Training v4.0"; empty: "MLPerf Training"
  Json system;         ///< the system's description; null: none
};

struct MlperfResults {
  Json records = Json::array();  ///< as `simulate --predict` reads them
  Json convergence;  ///< lockstep/convergence/1 without fits; null where no run has evaluations and a target
  std::vector<std::string> said;
};

/// `logs`: text and name of each. Throws InputError with file and line: malformed, no run in a file, runs of two models.
MlperfResults import_mlperf(const std::vector<std::pair<std::string, std::string>>& logs, const MlperfOptions& options);

}  // namespace lockstep::calib
