#pragma once
// Batches on their way to the device: two slots in turn, each pinned memory on the host and memory on the device, and a
// stream of its own for the copies. Images come as floats, or as bytes, of which the pass makes floats. While one batch is computed on, the next one can be copied.
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

  /// On the device; parameters and step are left to the caller.
  /// Copies the first `count` images and labels; when it returns the batch can be changed, but for pinned bytes, which the
  /// copy engine takes from where they lie: until_copied(). What is enqueued on `reader` from now on comes after the copy;
  /// done() says that it has been enqueued.
  Staged push(const device::HostBatch& batch, int count, cudaStream_t reader);
  void done(cudaStream_t reader);

  /// A wait, for any thread, until what was pushed last has left the host's memory; it may outlive this.
  std::function<void()> until_copied() const;

  std::int64_t memory_bytes() const;

 private:
  struct Slot {
    Slot(std::int64_t elements, std::int64_t batch) : host_labels(batch), images(elements), labels(batch) {}
    float* room_for_images() {  // none where all come in pinned memory
      if (host_images.size() == 0) host_images = PinnedBuffer<float>(images.size());
      return host_images.data();
    }
    void make_room_for_turns(std::int64_t batch) {
      if (turns.size() > 0) return;
      host_turns = PinnedBuffer<ImageTurn>(batch);
      turns = DeviceBuffer<ImageTurn>(batch);
    }
    PinnedBuffer<float> host_images;  ///< or bytes
    PinnedBuffer<std::int32_t> host_labels;
    DeviceBuffer<float> images;
    DeviceBuffer<std::int32_t> labels;
    PinnedBuffer<ImageTurn> host_turns;  ///< none until images are turned
    DeviceBuffer<ImageTurn> turns;
    std::shared_ptr<Event> copied = std::make_shared<Event>();  ///< the host's memory is free again
    Event read;                                                 ///< the device's is
    bool used = false;
  };

  void push_bytes(const device::ByteImages& images, int count, Slot& slot, Staged& staged);
  /// Of bytes, the same for all batches: copied when they first come.
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
