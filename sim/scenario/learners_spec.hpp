#pragma once
// The scenario's object "learners": how many learners train on each GPU and how they synchronise (algorithms "sma" and
// "ea-sgd"). Its keys are described in sim/scenario/README.md.
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::sim {

/// What fraction of the GPU a learner can use at a batch size.
struct FillSpec {
  int batch;
  double fill;
};

/// For the estimate of the fill where it is not given; cost/occupancy.hpp.
struct OccupancySpec {
  int multiprocessors = 0;  ///< 0: not stated
  int streaming_threads = 2048;
  int matrix_threads = 512;
  int outputs_per_thread = 64;
};

struct LearnersSpec {
  int per_gpu = 1;
  int tau = 1;  ///< iterations per synchronisation; 0: never
  bool round_robin = false;
  bool overlap = true;
  bool by_host = false;          ///< the host synchronises, as Crossbow's released program does
  double host_wait_s = 0;        ///< for the host to notice that a GPU is done
  std::vector<FillSpec> fill;    ///< ascending batch; empty: estimated
  bool fill_of_profile = false;  ///< `fill` is what the profile of `compute` has measured
  OccupancySpec occupancy;
  double workspace_bytes = 0;     ///< of each learner
  double preprocessed_per_s = 0;  ///< samples/s of a node's CPU workers together; 0: never the bottleneck
  bool auto_tune = false;
  double tuner_threshold = 0.05;
  int tuner_window = 5;  ///< iterations of an observation

  /// Linear in log(batch) between the stated batches, flat outside. `fill` must not be empty.
  double fill_at(int batch) const;
};

/// Throws InputError.
LearnersSpec read_learners(const JsonNode& node);

/// What "learners" leaves out.
Json learners_defaults();

}  // namespace lockstep::sim
