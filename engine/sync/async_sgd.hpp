#pragma once
// Asynchronous SGD over processes (Async-Opt: Dean et al. 2012, "Large scale distributed deep networks", section 4.1;
// Chen et al. 2016, "Revisiting distributed synchronous SGD", Algs. 1 and 2). A worker takes a gradient at the parameters
// that it last read and brings it to the centre, which updates at once and hands out what came of it:
//
//   worker j   g = gradient at w_j;  brings g, takes w_j
//   centre     w <- update(w, g)                              by a rule of update.hpp
//
// How old gradients are is what comes of the workers' speeds; Centre counts it. stale_gradients.hpp trains with an age
// that is given.
#include "engine/sync/centre.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"

namespace lockstep::sync {

class AsyncSgd {
 public:
  /// Throws std::invalid_argument as Centre and check() do, and for a wrong number of elements.
  AsyncSgd(Processes& processes, Layout layout, const std::vector<float>& initial, const UpdateOptions& options);

  /// A stretch begins; every worker reads the centre's parameters.
  void begin(std::int64_t iterations);
  /// One iteration of this process's worker.
  void step(double learning_rate, const GradientFunction& gradient);
  Centre& centre() { return centre_; }
  const Centre& centre() const { return centre_; }

  void visit_state(StateVisitor& state);
  /// In process 0 the centre's w, elsewhere what the worker read last.
  const DeviceVector& parameters() const { return is_centre_ ? parameters_ : read_; }

 private:
  bool is_centre_;
  Processes& processes_;
  HostVectorOps ops_;  ///< of its own: two threads of process 0 use it
  Layout layout_;
  DeviceVector parameters_;  ///< w
  DeviceVector read_;        ///< w_j
  DeviceVector brought_;
  Updater updater_;
  Centre centre_;
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
