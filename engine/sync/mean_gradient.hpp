#pragma once
// The mean of the replicas' gradients, on every replica's device: what data-parallel algorithms on one model apply.
//
//   g = (1/k) sum_j g_j      over the k replicas of all processes, by an all-reduce
#include <vector>

#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class MeanGradient {
 public:
  /// `replicas` of this process, of n parameters each; replica j lies on device j.
  MeanGradient(VectorOps& ops, std::int64_t n, int replicas);

  /// Of the replicas' own gradients; the result's buffer j is replica j's and stays as it is until the next call. A
  /// replica alone in the whole run gets its own gradient back.
  std::vector<const float*> of(const std::vector<const float*>& gradients);

 private:
  VectorOps& ops_;
  std::int64_t size_;
  std::vector<DeviceVector> means_;  ///< one per replica; none where there is a single replica
};

}  // namespace lockstep::sync
