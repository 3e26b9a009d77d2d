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
  /// The mean of a single replica's gradient, which `ask` is called for: parts of it are sent while the others are
  /// computed, as soon as `bucket_bytes` of them are complete. The same bits as of().
  template <typename Ask>
  const float* while_computed(std::int64_t bucket_bytes, const Ask& ask) {
    std::int64_t sent = size_, ready = size_;  // all elements from here on
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
  /// Whether there is anything to send, and a way to do it meanwhile: one replica here, others elsewhere.
  bool can_send_early() const { return means_.size() == 1 && ops_.averages_beside(); }

 private:
  VectorOps& ops_;
  std::int64_t size_;
  std::vector<DeviceVector> means_;  ///< one per replica; none where there is a single replica
};

}  // namespace lockstep::sync
