#pragma once
// Averages the replicas' gradients on every replica's device, for data-parallel algorithms that train one model.
#include <vector>

#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class MeanGradient {
 public:
  /// `replicas` is the number in this process, each with n parameters; replica j is on device j.
  MeanGradient(VectorOps& ops, std::int64_t n, int replicas);

  /// Averages the replicas' gradients. Buffer j of the result belongs to replica j and stays unchanged until the next
  /// call. If the run has only one replica, returns its own gradient.
  std::vector<const float*> of(const std::vector<const float*>& gradients);
  /// Averages the gradient of this process's only replica while `ask` computes it. Parts are sent as soon as
  /// `bucket_bytes` of them are complete. The result has the same bits as of().
  template <typename Ask>
  const float* while_computed(std::int64_t bucket_bytes, const Ask& ask) {
    std::int64_t sent = size_, ready = size_;  // elements from `sent` on are sent, from `ready` on final
    const auto send = [&](const float* gradient) {
      if (ready < sent) ops_.begin_average(sent - ready, gradient + ready, means_.front().data() + ready);
      sent = ready;
    };
    const GradientFunction::ReadyFunction is_ready = [&](const float* gradient, std::int64_t begin, std::int64_t) {
      ready = begin;
      if ((sent - ready) * static_cast<std::int64_t>(sizeof(float)) >= bucket_bytes) send(gradient);
    };
    const float* gradient = ask(is_ready);
    ready = 0;
    send(gradient);
    ops_.finish_averages();
    return means_.front().data();
  }
  /// Whether early sending helps: there are several processes, this one has a single replica, and the backend can send
  /// during computation.
  bool can_send_early() const { return means_.size() == 1 && ops_.averages_beside(); }

 private:
  VectorOps& ops_;
  std::int64_t size_;
  std::vector<DeviceVector> means_;  ///< one per replica; empty if there is a single replica
};

}  // namespace lockstep::sync
