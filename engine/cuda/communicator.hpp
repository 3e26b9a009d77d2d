#pragma once
// NCCL between the GPUs of this process, and of the run's other processes.
#include <nccl.h>

#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

class Communicator {
 public:
  /// A rank on every one of these GPUs, which differ; every process has as many. Takes about a second.
  Communicator(const std::vector<int>& gpus, sync::Processes& processes);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Every buffers[d], n numbers of this precision on gpus[d], becomes the sum of those of all processes, on streams[d].
  /// NCCL chooses the order of the summation; all GPUs get the same bits.
  void all_reduce(std::int64_t n, device::Precision element, const std::vector<void*>& buffers,
                  const std::vector<cudaStream_t>& streams);
  /// Every receive[d], n floats on gpus[d], becomes the mean of the send[d] of all processes, which stay. NCCL
  /// multiplies each by 1/ranks, rounded to float, and sums: off by a rounding per rank from the mean, and the same
  /// bits everywhere.
  void all_average(std::int64_t n, const std::vector<const float*>& send, const std::vector<float*>& receive,
                   const std::vector<cudaStream_t>& streams);
  /// Rank k's part is sync::part_of(n, k, ranks). average_parts(): receive[d] <- the part of this process's d-th rank of
  /// the mean of all send, made as all_average() makes it. share_parts(): every buffer gets each rank's part from its own.
  void average_parts(std::int64_t n, const std::vector<const float*>& send, const std::vector<float*>& receive,
                     const std::vector<cudaStream_t>& streams);
  void share_parts(std::int64_t n, const std::vector<float*>& buffers, const std::vector<cudaStream_t>& streams);
  /// Whether a sum may be faster than a mean: the switches between the GPUs add (NVLink SHARP), but floats only
  /// plainly, so that NCCL takes a mean through the GPUs. The same in all processes.
  bool has_adding_switches() const { return can_switches_reduce_; }
  /// device::Backend::exchange() on streams[d].
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>& send, const std::vector<void*>& receive,
                const std::vector<cudaStream_t>& streams);

 private:
  struct OfRank {
    std::size_t own;  ///< its number in this process
    const void* send;
    void* receive;
    cudaStream_t stream;
  };
  void exchange_of_rank(device::Collective collective, device::Precision element, std::size_t n, const OfRank& rank);

  std::vector<int> gpus_;
  std::size_t all_;     ///< ranks of all processes
  std::size_t before_;  ///< of them in the processes before this one
  std::vector<ncclComm_t> ranks_;
  bool can_switches_reduce_;
};

}  // namespace lockstep::cuda
