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

class BatchReader {
 public:
  /// `source` and `order` must outlive it. `threads` >= 1, the calling one included.
  BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
              std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads);

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
  device::Executor executor_;
};

}  // namespace lockstep::train
