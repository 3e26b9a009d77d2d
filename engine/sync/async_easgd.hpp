#pragma once
// Asynchronous elastic averaging over processes (Zhang, Choromanska & LeCun 2015, Alg. 1; Ma, Mao & Taylor 2016,
// "Theano-MPI", section 4). Each worker counts its own iterations. Before each tau-th it meets the centre z, one worker
// at a time:
//
//   e = alpha (w_j - z);  w_j <- w_j - e;  z <- z + e
//
// Then it steps with the gradient at the w_j from before the meeting. Each meeting uses z as the previous meeting left
// it, whichever worker that was. Centre counts the meetings of other workers in between.
#include <optional>

#include "engine/sync/centre.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::sync {

struct AsyncEasgdOptions {
  std::optional<double> alpha;  ///< in [0, 1]; none: 0.9 / workers, as in ea_sgd.hpp
  double weight_decay = 0;
  int tau = 1;  ///< at least 1
};

class AsyncEasgd {
 public:
  /// Every worker and the centre start from `initial`. Throws std::invalid_argument for options out of range, a wrong
  /// number of elements, and in the cases of Centre's constructor.
  AsyncEasgd(Processes& processes, Layout layout, const std::vector<float>& initial, const AsyncEasgdOptions& options);

  void begin(std::int64_t iterations) { centre_.begin(iterations); }
  /// Runs one iteration of this process's worker.
  void step(double learning_rate, const GradientFunction& gradient);
  Centre& centre() { return centre_; }
  const Centre& centre() const { return centre_; }

  void visit_state(StateVisitor& state);
  double alpha() const { return alpha_; }
  /// Returns z in process 0; elsewhere its initial value.
  const DeviceVector& parameters() const { return center_; }
  const DeviceVector& worker() const { return worker_; }

 private:
  bool is_centre_;
  HostVectorOps ops_;  ///< own instance: two threads of process 0 use it
  Layout layout_;
  AsyncEasgdOptions options_;
  double alpha_;
  DeviceVector center_;  ///< z
  DeviceVector worker_;  ///< w_j
  Centre centre_;
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
