#pragma once
// Copies that go on side by side, and sums that go on beside everything else: on streams of their own, for calibrate.
#include <memory>
#include <vector>

#include "engine/cuda/vector_ops.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

/// device::Backend::copy_at_once(). Copies of one call that belong to one GPU go on streams of their own, after its
/// operations so far and before its later ones.
class CopyStreams {
 public:
  /// `ops` must outlive it.
  explicit CopyStreams(CudaVectorOps& ops) : ops_(ops), gates_(static_cast<std::size_t>(ops.devices())) {}
  ~CopyStreams();
  CopyStreams(const CopyStreams&) = delete;
  CopyStreams& operator=(const CopyStreams&) = delete;
  void run(const std::vector<device::Transfer>& transfers);

 private:
  /// The device's `index`-th.
  ReplicaGate& gate_of(int device, std::size_t index);
  void start(const device::Transfer& copy, std::vector<std::size_t>& used);
  void check(int device) const;

  CudaVectorOps& ops_;
  std::vector<std::vector<std::unique_ptr<ReplicaGate>>> gates_;  ///< by device
};

/// device::Backend::repeat_sums(): NCCL sums of n floats over these GPUs, which differ, and those of all processes, on
/// streams, memory and a communicator of their own. Up to kSumsUnderWay are enqueued at a time, so that no gap shows
/// between them. Of several processes every kSumsUnderWay-th sum has one float more: how many of them want no further.
std::unique_ptr<device::Repeater> make_repeated_sums(const std::vector<int>& gpus, std::int64_t n,
                                                     sync::Processes& processes);
constexpr int kSumsUnderWay = 4;

/// The same for one GPU, which has nobody to sum with: two arrays of its own are added up by as few thread blocks as a
/// collective takes, on a stream of the highest priority. What a link would add is not there.
std::unique_ptr<device::Repeater> make_emulated_sums(int gpu, std::int64_t n);

}  // namespace lockstep::cuda
