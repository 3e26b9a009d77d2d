#pragma once
// Stale gradients, simulated as in Chen et al. 2016, "Revisiting distributed synchronous SGD", section 2.1: the
// gradient of iteration t is taken at the parameters of s(t) iterations ago, as an asynchronous worker's would be.
//
//   g = gradient at w(t - s(t));  v <- mu v - gamma (g + lambda w(t));  w(t+1) = w(t) + v
//
// k replicas, of one process or several, take the gradient together, as in S-SGD: g is the mean of theirs, each on its
// own batch and all at the same old parameters, which is one replica with k times the batch, to rounding. The draws are
// the same everywhere, so that nobody has to be told the age; replicas stay identical bit by bit.
//
// s(t) = min(t, round(ramp(t) * d)): d is the staleness itself when fixed, else drawn uniformly from {0, ..., 2 s} so
// that its mean is s. ramp(t) = min(1, t / ramp_iterations) raises it slowly; the paper needed that over the first 3
// epochs from staleness 15 on, and a lower initial learning rate from 20 on.
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
  std::int64_t ramp_iterations = 0;  ///< 0: at full staleness as soon as there is a past
  int replicas = 1;                  ///< of this process; replica j lies on device j
};

/// s(t). Depends on nothing but its arguments.
int staleness_at(const StalenessOptions& options, std::int64_t t);

class StaleGradients {
 public:
  /// Throws std::invalid_argument: negative staleness or ramp, no replica, update options out of range, a wrong number
  /// of elements.
  StaleGradients(VectorOps& ops, Layout layout, const std::vector<float>& initial, const StalenessOptions& staleness,
                 UpdateOptions options = {});

  /// One iteration: asks every replica for its gradient at the old parameters, averages, updates.
  void step(double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  std::int64_t iteration() const { return iteration_; }
  int replicas() const { return static_cast<int>(replicas_.size()); }
  /// w(t), the newest parameters.
  const DeviceVector& parameters(int replica = 0) const { return past(replica, 0); }

 private:
  struct Replica {
    std::vector<DeviceVector> ring;  ///< w(t) at t mod size: as many as s(t) can reach back to
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
