#pragma once
// Fills batches of images, with several threads if the host does not compute.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/data/augment.hpp"
#include "engine/device/backend.hpp"
#include "engine/device/executor.hpp"

namespace lockstep::train {

/// The default number of threads that prepare batches. With GPUs: all processors of the machine, divided by its
/// `processes`, up to 16. With the host's learners, which compute on these processors: one.
int usual_input_threads(const device::Backend& backend, int processes);

/// Bytes if the source has them and the devices accept them, else floats.
data::Pixels usual_pixels(const device::Backend& backend, const data::ImageSource& source);

/// Allocates batches of bytes in memory that the devices' copy engines access directly, if there is such memory.
data::Allocate pinned_memory_of(device::Backend& backend);

/// A batch in the form that a replica reads, with the data to which it refers. Both must live until it has been read.
class BatchForDevice {
 public:
  explicit BatchForDevice(const data::Batch& batch);
  BatchForDevice(const BatchForDevice&) = delete;
  BatchForDevice& operator=(const BatchForDevice&) = delete;
  const device::HostBatch& get() const { return batch_; }
  /// Call after the replica's gradient() or correct() has returned. If the replica still reads the batch then, the
  /// batch will wait before it is overwritten.
  void taken_by(const device::Replica& replica) const;

 private:
  const data::Batch& from_;
  std::vector<device::ImageTurn> turns_;
  device::ByteImages bytes_{nullptr, nullptr};
  device::HostBatch batch_;
};

/// Fills batches with given samples. The result does not depend on the number of threads.
class BatchFiller {
 public:
  /// `source` must outlive this object. `threads` >= 1 includes the calling thread. Bytes come from `allocate` if it is
  /// given.
  BatchFiller(const data::ImageSource& source, std::optional<data::AugmentationRange> augmentation, std::uint64_t seed,
              int threads, data::Pixels pixels, data::Allocate allocate = {});

  /// `samples` has one list per batch. Rethrows the source's exceptions. Call from one thread.
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
  /// `source` and `order` must outlive this object; for the other arguments see BatchFiller.
  BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
              std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
              data::Pixels pixels = data::Pixels::floats, data::Allocate allocate = {});

  /// Fills consecutive batches of `batch` images, from `position` of the sequence on. Rethrows the source's exceptions.
  /// Call from one thread.
  void read(std::int64_t position, std::vector<data::Batch>& batches);
  int threads() const { return filler_.threads(); }

 private:
  const data::BatchOrder& order_;
  int batch_;
  BatchFiller filler_;
};

}  // namespace lockstep::train
