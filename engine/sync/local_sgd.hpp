#pragma once
// Local SGD (Stich 2019, "Local SGD converges fast and communicates little", Alg. 1). Replicas train independently, and
// are replaced by their mean in every tau-th iteration.
//
//   v_j <- mu v_j - gamma (g_j(w_j) + lambda w_j);  w_j <- w_j + v_j        (or by another rule; see update.hpp)
//   w_j <- (1/k) sum_i w_i      in iterations tau, 2 tau, ..., over the k replicas of all processes
//
// Each replica keeps its own velocity (local momentum; Lin et al. 2020, "Don't use large mini-batches, use local SGD").
// With tau 1 and no momentum this is S-SGD, except for rounding.
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

struct LocalSgdOptions {
  int replicas = 1;  ///< of this process; replica j is on device j
  int tau = 1;       ///< at least 1
};

class LocalSgd {
 public:
  /// Every replica starts from `initial` (layout.count elements on the host). Throws std::invalid_argument for options
  /// out of range or a wrong number of elements.
  LocalSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const LocalSgdOptions& options,
           UpdateOptions update = {});

  void step(double learning_rate, const GradientFunction& gradient);
  void visit_state(StateVisitor& state);

  int replicas() const { return static_cast<int>(parameters_.size()); }
  const DeviceVector& parameters(int replica) const { return parameters_.at(static_cast<std::size_t>(replica)); }
  /// The mean of the replicas at their last averaging. Evaluations use it; it is the same in all processes.
  const DeviceVector& average() const { return averages_.front(); }

 private:
  VectorOps& ops_;
  Layout layout_;
  LocalSgdOptions options_;
  std::vector<DeviceVector> parameters_;  ///< w_j
  std::vector<Updater> updaters_;         ///< v_j
  std::vector<DeviceVector> averages_;    ///< one per replica, on its device
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
