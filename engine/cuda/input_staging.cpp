#include "engine/cuda/input_staging.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::cuda {
namespace {

template <typename T>
void copy_in(const T* from, T* to, std::int64_t count, cudaStream_t stream) {
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice, stream));
}

}  // namespace

InputStaging::InputStaging(int device, int batch, std::int64_t image_elements, int channels)
    : device_(device),
      image_elements_(image_elements),
      batch_(batch),
      values_(256 * std::int64_t{channels}),
      slots_{Slot(batch * image_elements, batch), Slot(batch * image_elements, batch)} {
  for (Slot& slot : slots_) std::fill_n(slot.host_labels.data(), batch, 0);
}

Staged InputStaging::push(const device::HostBatch& batch, int count, cudaStream_t reader) {
  current_ = 1 - current_;
  Slot& slot = slots_[current_];
  if (slot.used) {
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(*slot.copied));
    slot.read.hold(copies_);
  }
  slot.used = true;
  Staged staged{slot.images.data(), slot.labels.data(), nullptr, 0};
  if (batch.as_bytes != nullptr) {
    push_bytes(*batch.as_bytes, count, slot, staged);
  } else {
    const std::int64_t elements = count * image_elements_;
    float* const pinned = slot.room_for_images();
    std::copy_n(batch.images, elements, pinned);
    copy_in(pinned, slot.images.data(), elements, copies_);
  }
  std::copy_n(batch.labels, count, slot.host_labels.data());
  copy_in(slot.host_labels.data(), slot.labels.data(), slot.labels.size(), copies_);
  slot.copied->record(copies_);
  slot.copied->hold(reader);
  return staged;
}

void InputStaging::push_bytes(const device::ByteImages& images, int count, Slot& slot, Staged& staged) {
  const std::int64_t elements = count * image_elements_;
  auto* arrived = reinterpret_cast<std::uint8_t*>(slot.images.data());
  if (images.is_pinned) {
    copy_in(images.bytes, arrived, elements, copies_);
  } else {
    auto* pinned = reinterpret_cast<std::uint8_t*>(slot.room_for_images());
    std::copy_n(images.bytes, elements, pinned);
    copy_in(pinned, arrived, elements, copies_);
  }
  staged.bytes = arrived;
  staged.values = values_of(images);
  if (images.turns == nullptr) return;
  slot.make_room_for_turns(batch_);
  for (int i = 0; i < count; ++i) slot.host_turns.data()[i] = {images.turns[i].cosine, images.turns[i].sine};
  copy_in(slot.host_turns.data(), slot.turns.data(), count, copies_);
  staged.turns = slot.turns.data();
}

const float* InputStaging::values_of(const device::ByteImages& images) {
  if (std::exchange(values_from_, images.values) == images.values) return values_.data();
  copy_in(images.values, values_.data(), values_.size(), copies_);
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(copies_));
  return values_.data();
}

std::function<void()> InputStaging::until_copied() const {
  return [device = device_, copied = slots_[current_].copied] {
    const OnDevice on_device(device, std::nothrow);
    cudaEventSynchronize(*copied);  // device errors are reported by the next CUDA call
  };
}

void InputStaging::done(cudaStream_t reader) {
  slots_[current_].read.record(reader);
}

std::int64_t InputStaging::memory_bytes() const {
  std::int64_t sum = values_.bytes();
  for (const Slot& slot : slots_) sum += slot.images.bytes() + slot.labels.bytes() + slot.turns.bytes();
  return sum;
}

}  // namespace lockstep::cuda
