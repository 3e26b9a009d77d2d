#pragma once
// Copies batches to the device. Two slots alternate; each has pinned host memory and device memory. Copies use their
// own stream, so that the next batch is copied while one is computed on. Images are floats, or bytes that the pass
// converts to floats.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

class InputStaging {
 public:
  InputStaging(int device, int batch, std::int64_t image_elements, int channels);

  /// Copies the first `count` images and labels to the device, and returns their addresses; the caller sets parameters
  /// and step. After the return the batch may be changed. Exception: pinned bytes, which the copy engine reads in place
  /// until until_copied() returns. Later work on `reader` waits for the copy. Call done() when the work that reads the
  /// batch has been enqueued.
  Staged push(const device::HostBatch& batch, int count, cudaStream_t reader);
  void done(cudaStream_t reader);

  /// Returns a function, callable from any thread, that waits until the last pushed batch has left host memory. It may
  /// outlive this object.
  std::function<void()> until_copied() const;

  std::int64_t memory_bytes() const;

 private:
  struct Slot {
    Slot(std::int64_t elements, std::int64_t batch) : host_labels(batch), images(elements), labels(batch) {}
    float* room_for_images() {  // allocated only for images in pageable memory
      if (host_images.size() == 0) host_images = PinnedBuffer<float>(images.size());
      return host_images.data();
    }
    void make_room_for_turns(std::int64_t batch) {
      if (turns.size() > 0) return;
      host_turns = PinnedBuffer<ImageTurn>(batch);
      turns = DeviceBuffer<ImageTurn>(batch);
    }
    PinnedBuffer<float> host_images;  ///< floats or bytes
    PinnedBuffer<std::int32_t> host_labels;
    DeviceBuffer<float> images;
    DeviceBuffer<std::int32_t> labels;
    PinnedBuffer<ImageTurn> host_turns;  ///< empty until a batch has rotated images
    DeviceBuffer<ImageTurn> turns;
    std::shared_ptr<Event> copied = std::make_shared<Event>();  ///< host memory is free again
    Event read;                                                 ///< device memory is free again
    bool used = false;
  };

  void push_bytes(const device::ByteImages& images, int count, Slot& slot, Staged& staged);
  /// Returns the table of floats for bytes, the same for all batches; copies it to the device at first use.
  const float* values_of(const device::ByteImages& images);

  int device_;
  std::int64_t image_elements_;
  std::int64_t batch_;
  DeviceBuffer<float> values_;
  const float* values_from_ = nullptr;
  Stream copies_;
  std::array<Slot, 2> slots_;
  std::size_t current_ = 1;
};

}  // namespace lockstep::cuda
