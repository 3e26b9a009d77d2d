#pragma once
// Copies that run concurrently, and sums that run in parallel with all other work. Both use their own streams;
// calibrate needs them.
#include <memory>
#include <vector>

#include "engine/cuda/vector_ops.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

/// Implements device::Backend::copy_at_once(). Copies of one call on the same GPU use separate streams. They start
/// after the GPU's earlier operations and finish before its later ones.
class CopyStreams {
 public:
  /// `ops` must outlive it.
  explicit CopyStreams(CudaVectorOps& ops) : ops_(ops), gates_(static_cast<std::size_t>(ops.devices())) {}
  ~CopyStreams();
  CopyStreams(const CopyStreams&) = delete;
  CopyStreams& operator=(const CopyStreams&) = delete;
  void run(const std::vector<device::Transfer>& transfers);

 private:
  /// The gate of the device's `index`-th copy.
  ReplicaGate& gate_of(int device, std::size_t index);
  void start(const device::Transfer& copy, std::vector<std::size_t>& used);
  void check(int device) const;

  CudaVectorOps& ops_;
  std::vector<std::vector<std::unique_ptr<ReplicaGate>>> gates_;  ///< by device
};

/// Implements device::Backend::repeat_sums(): NCCL sums of n floats over these GPUs, which must differ, and over all
/// processes. They have their own streams, memory and communicator. Up to kSumsUnderWay sums are enqueued at a time, so
/// that no gap appears between them. With several processes, every kSumsUnderWay-th sum has one more float, which
/// counts the processes that want to stop.
std::unique_ptr<device::Repeater> make_repeated_sums(const std::vector<int>& gpus, std::int64_t n,
                                                     sync::Processes& processes);
constexpr int kSumsUnderWay = 4;

/// Emulates repeated sums on a single GPU, which has no peer. A kernel with as few thread blocks as a collective's adds
/// two arrays on a stream of the highest priority. Traffic on a link is not emulated.
std::unique_ptr<device::Repeater> make_emulated_sums(int gpu, std::int64_t n);

}  // namespace lockstep::cuda
