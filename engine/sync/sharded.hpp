#pragma once
// S-SGD with a sharded optimizer (ZeRO stage 1: Rajbhandari et al. 2020, "ZeRO: memory optimizations toward training
// trillion parameter models", section 5.1). The n parameters are divided among the N replicas of all processes
// (part_of()). Replica p keeps only the optimizer state of part p, 1/N of the whole:
//
//   g_p = (1/N) sum_j g_j  on part p                reduce-scatter
//   w_p <- update(w_p, g_p)                          with the state of part p; see update.hpp
//   w   <- (w_0, ..., w_{N-1})                       all-gather
//
// Update rules work element by element, so the results have the bits of S-SGD. LARS, which needs norms of whole
// tensors, is refused. The traffic is that of an all-reduce: 2 (N - 1) / N n numbers to and from each replica.
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

/// The layout of the elements in `part`, with offsets from 0. `part` must not be empty.
Layout layout_of_part(const Layout& layout, const Part& part);

class Sharded {
 public:
  /// `replicas` is the number in this process, each a copy of `initial`; replica j is on device j. This is process
  /// `rank` of ops.processes(), which all have the same number of replicas. Throws std::invalid_argument if replicas <
  /// 1, for more replicas in total than parameters, for a rank out of range, a wrong number of elements, options out of
  /// range, or LARS.
  Sharded(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, int rank,
          UpdateOptions options = {});

  void step(double learning_rate, const GradientFunction& gradient);
  void visit_state(StateVisitor& state);

  int replicas() const { return static_cast<int>(parameters_.size()); }
  const DeviceVector& parameters(int replica) const { return parameters_.at(static_cast<std::size_t>(replica)); }
  /// The part that replica `replica` of this process updates.
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
