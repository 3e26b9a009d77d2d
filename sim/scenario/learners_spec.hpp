#pragma once
// The scenario's object "learners": how many learners train on each GPU and how they synchronise (algorithms "sma" and
// "ea-sgd"). sim/scenario/README.md describes its keys.
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// The fraction of the GPU that a learner can use at a batch size.
struct FillSpec {
  int batch = 1;
  double fill = 1;
};

/// The facts from which the fill is estimated if it is not given; cost/occupancy.hpp.
struct OccupancySpec {
  int multiprocessors = 0;  ///< 0: not given
  int streaming_threads = 2048;
  int matrix_threads = 512;
  int outputs_per_thread = 64;
};

/// Describes the CPU workers of a node that prepare batches: their number, and samples/s of each.
struct PreProcessingSpec {
  int workers = 1;
  double samples_per_s = 0;
};

/// Algorithm 2 of Crossbow.
struct AutoTuneSpec {
  double threshold = 0.05;
  int window = 5;  ///< iterations of an observation
};

struct LearnersSpec {
  int per_gpu = 1;
  int tau = 1;  ///< iterations per synchronisation; 0: never
  bool round_robin = false;
  bool overlap = true;
  bool by_host = false;          ///< the host synchronises, as Crossbow's released program does
  double host_wait_s = 0;        ///< until the host notices that a GPU has finished
  std::vector<FillSpec> fill;    ///< ascending batch; empty: estimated
  bool fill_of_profile = false;  ///< the profile of `compute` has measured `fill`
  OccupancySpec occupancy;
  double workspace_bytes = 0;  ///< of each learner
  std::optional<PreProcessingSpec> pre_processing;
  std::optional<AutoTuneSpec> auto_tune;

  /// Linear in log(batch) between the given batches, constant outside. `fill` must not be empty.
  double fill_at(int batch) const;
  /// Returns the samples/s that all CPU workers of a node prepare together; 0: never the bottleneck.
  double preprocessed_per_s() const {
    return pre_processing ? pre_processing->workers * pre_processing->samples_per_s : 0;
  }
};

const ObjectFormat<FillSpec>& fill_format();
const ObjectFormat<LearnersSpec>& learners_format();

}  // namespace lockstep::sim::scenario
