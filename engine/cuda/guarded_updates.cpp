// Updates that a device makes only if gradients are finite. So the host can enqueue the next step without waiting for
// the gradients.
#include <algorithm>
#include <cmath>

#include "engine/cuda/vector_operation.hpp"

namespace lockstep::cuda {

/// Copies the first device's result to the host.
struct CudaVectorOps::VerdictSlot final : sync::Verdict {
  explicit VerdictSlot(int of_gpu) : gpu(of_gpu), squares(1) {}
  bool was_made() override {
    const OnDevice on_device(gpu);
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(told));
    return std::isfinite(*squares.data());
  }

  int gpu;
  PinnedBuffer<double> squares;
  Event told;
};

std::shared_ptr<sync::Verdict> CudaVectorOps::update_where_finite(std::int64_t n,
                                                                  const std::vector<const float*>& gradients,
                                                                  const std::function<void()>& work) {
  sync::require(!gradients.empty(), "vector: updates by no gradient");
  for (const float* gradient : gradients) {
    Device& device = on(device_of(gradient));
    if (device.is_guarded) continue;  // a device's gradients are equal: one check suffices
    Operation operation(*this, device.number, n);
    launch_dot(operation.stream(), n, gradient, gradient,
               {device.dot_partials.data(), device.guard.data(), device.dot_arrived.data()});
    operation.finish();
    device.is_guarded = true;
  }
  Device& first = on(device_of(gradients.front()));
  const OnDevice on_device(first.gpu);
  const auto is_free = [&](const auto& slot) { return slot.use_count() == 1 && slot->gpu == first.gpu; };
  auto found = std::find_if(verdicts_.begin(), verdicts_.end(), is_free);
  if (found == verdicts_.end()) found = verdicts_.insert(found, std::make_shared<VerdictSlot>(first.gpu));
  const std::shared_ptr<VerdictSlot> slot = *found;
  const cudaStream_t stream = stream_of(first.number);
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(slot->squares.data(), first.guard.data(), sizeof(double), cudaMemcpyDeviceToHost, stream));
  slot->told.record(stream);
  const auto end = [this] {
    for (const auto& device : devices_) device->is_guarded = false;
  };
  try {
    work();
  } catch (...) {
    end();
    throw;
  }
  end();
  return slot;
}

}  // namespace lockstep::cuda
