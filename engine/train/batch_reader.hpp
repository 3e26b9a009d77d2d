#pragma once
// Fills batches of images, by several threads where devices leave the host's processors free for it.
#include <cstdint>
#include <functional>
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

/// The memory of batches of bytes: that which devices' copy engines reach by themselves, where there is such.
data::Allocate pinned_memory_of(device::Backend& backend);

/// A batch as a replica takes it, with what that refers to: both stay until it has been taken.
class BatchForDevice {
 public:
  explicit BatchForDevice(const data::Batch& batch);
  BatchForDevice(const BatchForDevice&) = delete;
  BatchForDevice& operator=(const BatchForDevice&) = delete;
  const device::HostBatch& get() const { return batch_; }
  /// After the replica's gradient() or correct() of it has returned: the batch waits before it is written again where the
  /// replica still reads it.
  void taken_by(const device::Replica& replica) const;

 private:
  const data::Batch& from_;
  std::vector<device::ImageTurn> turns_;
  device::ByteImages bytes_{nullptr, nullptr};
  device::HostBatch batch_;
};

/// Fills batches with given samples: the same whatever the number of threads.
class BatchFiller {
 public:
  /// `source` must outlive it. `threads` >= 1, the calling one included. Bytes lie in memory by `allocate` where it is
  /// given.
  BatchFiller(const data::ImageSource& source, std::optional<data::AugmentationRange> augmentation, std::uint64_t seed,
              int threads, data::Pixels pixels, data::Allocate allocate = {});

  /// A list of samples for each batch. Throws what a source throws. Calls come from one thread.
  void fill(const std::vector<std::vector<data::Sample>>& samples, std::vector<data::Batch>& batches);
  int threads() const { return threads_; }

 private:
  const data::ImageSource& source_;
  std::optional<data::AugmentationRange> augmentation_;
  std::uint64_t seed_;
  int threads_;
  data::Pixels pixels_;
  data::Allocate allocate_;
  device::Executor executor_;
};

class BatchReader {
 public:
  /// `source` and `order` must outlive it; the rest as of BatchFiller.
  BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
              std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
              data::Pixels pixels = data::Pixels::floats, data::Allocate allocate = {});

  /// Batches of `batch` images one after another, from `position` of the sequence on. Throws what a source throws. Calls
  /// come from one thread.
  void read(std::int64_t position, std::vector<data::Batch>& batches);
  int threads() const { return filler_.threads(); }

 private:
  const data::BatchOrder& order_;
  int batch_;
  BatchFiller filler_;
};

}  // namespace lockstep::train
