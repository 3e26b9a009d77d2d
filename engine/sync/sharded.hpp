#pragma once
// S-SGD whose optimizer is sharded (ZeRO stage 1: Rajbhandari et al. 2020, "ZeRO: memory optimizations toward training
// trillion parameter models", section 5.1). The n parameters are shared out among the N replicas of all processes
// (part_of()); replica p keeps the optimizer's state of part p alone, 1/N of it:
//
//   g_p = (1/N) sum_j g_j  on part p                reduce-scatter
//   w_p <- update(w_p, g_p)                          with the state of part p; see update.hpp
//   w   <- (w_0, ..., w_{N-1})                       all-gather
//
// Rules of updates work element by element, so that this trains the bits of S-SGD; LARS, which needs norms of whole
// tensors, is refused. The wire carries what an all-reduce does: 2 (N - 1) / N n numbers from and to each replica.
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

/// The elements of `layout` in `part`, as a layout of their own from 0 on. `part` must not be empty.
Layout layout_of_part(const Layout& layout, const Part& part);

class Sharded {
 public:
  /// `replicas` copies of `initial` in this process, the one of number `rank` among ops.processes() that have as many;
  /// replica j lies on device j.
  /// Throws std::invalid_argument: replicas < 1, more replicas in all than parameters, no such process, a wrong number
  /// of elements, options out of range, LARS.
  Sharded(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, int rank,
          UpdateOptions options = {});

  void step(double learning_rate, const GradientFunction& gradient);
  void visit_state(StateVisitor& state);

  int replicas() const { return static_cast<int>(parameters_.size()); }
  const DeviceVector& parameters(int replica) const { return parameters_.at(static_cast<std::size_t>(replica)); }
  /// What replica `replica` of this process updates.
  Part part(int replica) const { return shards_.at(static_cast<std::size_t>(replica)).part; }

 private:
  struct Shard {
    Part part;
    Layout layout;
    DeviceVector mean;  ///< g_p
    Updater updater;
  };

  VectorOps& ops_;
  Layout layout_;
  std::vector<DeviceVector> parameters_;  ///< w, one per replica
  std::vector<Shard> shards_;             ///< one per replica
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
