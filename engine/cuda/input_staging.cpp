#include "engine/cuda/input_staging.hpp"

#include <algorithm>

namespace lockstep::cuda {

InputStaging::InputStaging(int batch, std::int64_t image_elements)
    : image_elements_(image_elements),
      slots_{Slot(batch * image_elements, batch), Slot(batch * image_elements, batch)} {
  for (Slot& slot : slots_) std::fill_n(slot.host_labels.data(), batch, 0);
}

InputStaging::Arrived InputStaging::push(const device::HostBatch& batch, int count, cudaStream_t reader) {
  current_ = 1 - current_;
  Slot& slot = slots_[current_];
  if (slot.used) {
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(slot.copied));
    slot.read.hold(copies_);
  }
  slot.used = true;
  const std::int64_t elements = count * image_elements_;
  std::copy_n(batch.images, elements, slot.host_images.data());
  std::copy_n(batch.labels, count, slot.host_labels.data());
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(slot.images.data(), slot.host_images.data(),
                                      static_cast<std::size_t>(elements) * sizeof(float), cudaMemcpyHostToDevice,
                                      copies_));
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(slot.labels.data(), slot.host_labels.data(),
                                      static_cast<std::size_t>(slot.labels.bytes()), cudaMemcpyHostToDevice, copies_));
  slot.copied.record(copies_);
  slot.copied.hold(reader);
  return {slot.images.data(), slot.labels.data()};
}

void InputStaging::done(cudaStream_t reader) {
  slots_[current_].read.record(reader);
}

std::int64_t InputStaging::memory_bytes() const {
  std::int64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.images.bytes() + slot.labels.bytes();
  return sum;
}

}  // namespace lockstep::cuda
