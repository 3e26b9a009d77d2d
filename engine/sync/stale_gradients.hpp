#pragma once
// Stale gradients, simulated as in Chen et al. 2016, "Revisiting distributed synchronous SGD", section 2.1: the
// gradient of iteration t is taken at the parameters of s(t) iterations ago, as an asynchronous worker's would be.
//
//   g = gradient at w(t - s(t));  v <- mu v - gamma (g + lambda w(t));  w(t+1) = w(t) + v
//
// s(t) = min(t, round(ramp(t) * d)): d is the staleness itself when fixed, else drawn uniformly from {0, ..., 2 s} so
// that its mean is s. ramp(t) = min(1, t / ramp_iterations) raises it slowly; the paper needed that over the first 3
// epochs from staleness 15 on, and a lower initial learning rate from 20 on.
#include <cstdint>
#include <vector>

#include "engine/sync/lars.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

struct StalenessOptions {
  int staleness = 0;  ///< s, in iterations
  bool drawn = false;
  std::uint64_t seed = 1;            ///< of the draws
  std::int64_t ramp_iterations = 0;  ///< 0: at full staleness as soon as there is a past
};

/// s(t). Depends on nothing but its arguments.
int staleness_at(const StalenessOptions& options, std::int64_t t);

class StaleGradients {
 public:
  /// Throws std::invalid_argument: negative staleness or ramp, update options out of range, a wrong number of elements.
  StaleGradients(VectorOps& ops, Layout layout, const std::vector<float>& initial, const StalenessOptions& staleness,
                 UpdateOptions options = {});

  /// One iteration; the gradient is asked of learner 0.
  void step(double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  std::int64_t iteration() const { return iteration_; }
  /// w(t), the newest parameters.
  const DeviceVector& parameters() const { return past(0); }

 private:
  /// w(t - age); the ring holds as many as s(t) can reach back to.
  const DeviceVector& past(int age) const;

  VectorOps& ops_;
  Layout layout_;
  StalenessOptions staleness_;
  UpdateOptions options_;
  std::vector<DeviceVector> ring_;  ///< w(t) at t mod size
  DeviceVector velocity_;
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
