#pragma once
// Exponential moving average of the parameters, the model that Chen et al. 2016 evaluate (Alg. 4, line 10):
//
//   average <- decay * average + (1 - decay) * w
#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class MovingAverage {
 public:
  /// Starts at w (n elements). Throws std::invalid_argument if decay is outside [0, 1).
  MovingAverage(VectorOps& ops, const DeviceVector& w, double decay = 0.9999);

  /// Adds the parameters after an iteration.
  void add(const DeviceVector& w);
  const DeviceVector& value() const { return average_; }
  void visit_state(StateVisitor& state) { state.vector("moving_average", average_); }

 private:
  VectorOps& ops_;
  double decay_;
  DeviceVector average_;
};

}  // namespace lockstep::sync
