#pragma once
// Copies that go on side by side, and sums that go on beside everything else: on streams of their own, for calibrate.
#include <memory>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

/// device::Backend::copy_at_once(). Copies of one call that belong to one GPU go on streams of their own.
class CopyStreams {
 public:
  /// Device d is GPU gpus[d].
  explicit CopyStreams(std::vector<int> gpus) : gpus_(std::move(gpus)), streams_(gpus_.size()) {}
  void run(const std::vector<device::Transfer>& transfers);

 private:
  struct Started {
    int gpu;
    cudaStream_t stream;
  };
  /// The GPU's `index`-th stream.
  cudaStream_t stream_of(std::size_t device, std::size_t index);
  Started start(const device::Transfer& copy, std::vector<std::size_t>& used);
  void check(int device) const;

  std::vector<int> gpus_;
  std::vector<std::vector<std::unique_ptr<Stream>>> streams_;  ///< by device
};

/// device::Backend::repeat_sums(): NCCL sums of n floats over these GPUs, which differ, on streams, memory and a
/// communicator of their own. Up to kSumsUnderWay are enqueued at a time, so that no gap shows between them.
std::unique_ptr<device::Repeater> make_repeated_sums(const std::vector<int>& gpus, std::int64_t n);
constexpr int kSumsUnderWay = 4;

/// The same for one GPU, which has nobody to sum with: two arrays of its own are added up by as few thread blocks as a
/// collective takes, on a stream of the highest priority. What a link would add is not there.
std::unique_ptr<device::Repeater> make_emulated_sums(int gpu, std::int64_t n);

}  // namespace lockstep::cuda
