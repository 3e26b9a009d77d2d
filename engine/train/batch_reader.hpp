#pragma once
// Fills batches of images, by several threads where devices leave the host's processors free for it.
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/data/augment.hpp"
#include "engine/device/backend.hpp"
#include "engine/device/executor.hpp"

namespace lockstep::train {

/// Threads that prepare batches: beside GPUs all processors of the machine, shared with its other `processes`, up to 16;
/// beside the host's learners, which compute on them, one.
int usual_input_threads(const device::Backend& backend, int processes);

/// Bytes where the source has them and devices take them.
data::Pixels usual_pixels(const device::Backend& backend, const data::ImageSource& source);

/// A batch as a replica takes it, with what that refers to: both stay until it has been taken.
class BatchForDevice {
 public:
  explicit BatchForDevice(const data::Batch& batch);
  BatchForDevice(const BatchForDevice&) = delete;
  BatchForDevice& operator=(const BatchForDevice&) = delete;
  const device::HostBatch& get() const { return batch_; }

 private:
  std::vector<device::ImageTurn> turns_;
  device::ByteImages bytes_{nullptr, nullptr};
  device::HostBatch batch_;
};

class BatchReader {
 public:
  /// `source` and `order` must outlive it. `threads` >= 1, the calling one included.
  BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
              std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
              data::Pixels pixels = data::Pixels::floats);

  /// Batches of `batch` images one after another, from `position` of the sequence on: the same whatever the number of
  /// threads. Throws what a source throws. Calls come from one thread.
  void read(std::int64_t position, std::vector<data::Batch>& batches);
  int threads() const { return threads_; }

 private:
  const data::ImageSource& source_;
  const data::BatchOrder& order_;
  int batch_;
  std::optional<data::AugmentationRange> augmentation_;
  std::uint64_t seed_;
  int threads_;
  data::Pixels pixels_;
  device::Executor executor_;
};

}  // namespace lockstep::train
