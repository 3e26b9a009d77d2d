#pragma once
// Samples to MLPerf's targets by the global batch: MLCommons' reference convergence points, each the mean of 6 to 23 runs of
// the reference (github.com/mlcommons/logging at 7bbf792, mlperf_logging/rcp_checker/training_4.1.0; of GPT-3 at 3,072 and
// of Llama 2 4.0.0's, without one run that did not converge; of Llama 3.1 405B the means of 5.0.0's and 5.1.0's). None is a
// submission. GPT-3's are of sequences of 2,048 tokens.
#include <string>
#include <utility>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::quantity {

struct ReferencePoints {
  std::string model;                               ///< an id of the catalogue begins so
  std::vector<std::pair<double, double>> samples;  ///< global batch, samples to the target; by the batch
  double critical_batch;  ///< of samples = fewest (1 + batch / critical), through all points: for batches beyond them
  double off;             ///< of a point that is left out, by those beside it: root mean square

  double most_batch() const { return samples.back().first; }
  /// Between two points on the line through them, as that law is a line; a smaller batch takes what the smallest does.
  double samples_at(double batch) const;
};

/// Null where MLPerf trains no such model, or has no points of it.
const ReferencePoints* reference_points_of(const std::string& model);

}  // namespace lockstep::sim::quantity
