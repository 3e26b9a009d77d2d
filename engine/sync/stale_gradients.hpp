#pragma once
// Stale gradients, simulated as in Chen et al. 2016, "Revisiting distributed synchronous SGD", section 2.1. The
// gradient of iteration t is computed at the parameters of s(t) iterations ago, as an asynchronous worker would do.
//
//   g = gradient at w(t - s(t));  v <- mu v - gamma (g + lambda w(t));  w(t+1) = w(t) + v
//
// k replicas, in one or several processes, compute the gradient together, as in S-SGD. g is the mean of their
// gradients, each on its own batch, all at the same old parameters. This equals one replica with k times the batch,
// except for rounding. All processes draw the same numbers, so the age need not be communicated. Replicas stay
// bit-identical.
//
// s(t) = min(t, round(ramp(t) * d)). If the staleness is fixed, d = s; otherwise d is drawn uniformly from {0, ..., 2
// s}, so that its mean is s. ramp(t) = min(1, t / ramp_iterations) raises it slowly. The paper needed that over the
// first 3 epochs from staleness 15 on, and a lower initial learning rate from 20 on.
#include <cstdint>
#include <vector>

#include "engine/sync/mean_gradient.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

struct StalenessOptions {
  int staleness = 0;  ///< s, in iterations
  bool drawn = false;
  std::uint64_t seed = 1;            ///< of the draws
  std::int64_t ramp_iterations = 0;  ///< 0: no ramp
  int replicas = 1;                  ///< of this process; replica j is on device j
};

/// s(t); depends only on its arguments.
int staleness_at(const StalenessOptions& options, std::int64_t t);

class StaleGradients {
 public:
  /// Throws std::invalid_argument for a negative staleness or ramp, no replica, update options out of range, or a wrong
  /// number of elements.
  StaleGradients(VectorOps& ops, Layout layout, const std::vector<float>& initial, const StalenessOptions& staleness,
                 UpdateOptions options = {});

  /// Runs one iteration: computes every replica's gradient at the old parameters, averages, updates.
  void step(double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  std::int64_t iteration() const { return iteration_; }
  int replicas() const { return static_cast<int>(replicas_.size()); }
  /// w(t), the newest parameters.
  const DeviceVector& parameters(int replica = 0) const { return past(replica, 0); }

 private:
  struct Replica {
    std::vector<DeviceVector> ring;  ///< w(t) at index t mod size; one entry for each possible s(t)
    Updater updater;                 ///< v
  };
  /// w(t - age) of a replica.
  const DeviceVector& past(int replica, int age) const;

  VectorOps& ops_;
  Layout layout_;
  StalenessOptions staleness_;
  std::vector<Replica> replicas_;
  MeanGradient mean_;  ///< g
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
