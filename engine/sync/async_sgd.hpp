#pragma once
// Asynchronous SGD over processes (Async-Opt: Dean et al. 2012, "Large scale distributed deep networks", section 4.1;
// Chen et al. 2016, "Revisiting distributed synchronous SGD", Algs. 1 and 2). A worker computes a gradient at the
// parameters that it last read, and sends it to the centre. The centre updates at once and returns the new parameters:
//
//   worker j   g = gradient at w_j;  brings g, takes w_j
//   centre     w <- update(w, g)                              by a rule of update.hpp
//
// The age of gradients follows from the workers' speeds; Centre counts it. stale_gradients.hpp trains with a given age.
#include "engine/sync/centre.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"

namespace lockstep::sync {

class AsyncSgd {
 public:
  /// Throws std::invalid_argument for a wrong number of elements, and in the cases of Centre's constructor and check().
  AsyncSgd(Processes& processes, Layout layout, const std::vector<float>& initial, const UpdateOptions& options);

  /// Starts a stretch of training: every worker reads the centre's parameters.
  void begin(std::int64_t iterations);
  /// Runs one iteration of this process's worker.
  void step(double learning_rate, const GradientFunction& gradient);
  Centre& centre() { return centre_; }
  const Centre& centre() const { return centre_; }

  void visit_state(StateVisitor& state);
  /// In process 0 the centre's w; elsewhere the parameters that the worker last read.
  const DeviceVector& parameters() const { return is_centre_ ? parameters_ : read_; }

 private:
  bool is_centre_;
  Processes& processes_;
  HostVectorOps ops_;  ///< own instance: two threads of process 0 use it
  Layout layout_;
  DeviceVector parameters_;  ///< w
  DeviceVector read_;        ///< w_j
  DeviceVector brought_;
  Updater updater_;
  Centre centre_;
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
