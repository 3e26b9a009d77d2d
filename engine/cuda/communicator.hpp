#pragma once
// Runs NCCL collectives between the GPUs of this process and of the run's other processes.
#include <nccl.h>

#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

class Communicator {
 public:
  /// Makes one rank per GPU. The GPUs must differ, and every process must have the same number. Takes about a second.
  Communicator(const std::vector<int>& gpus, sync::Processes& processes);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Replaces each buffers[d], n numbers of this precision on gpus[d], by the sum over all ranks of all processes, on
  /// streams[d]. NCCL chooses the order of summation; all GPUs get bit-identical results.
  void all_reduce(std::int64_t n, device::Precision element, const std::vector<void*>& buffers,
                  const std::vector<cudaStream_t>& streams);
  /// Sets each receive[d], n floats on gpus[d], to the mean of all ranks' send[d], which stay unchanged. NCCL
  /// multiplies each by 1/ranks, rounded to float, and sums: the result differs from the mean by up to one rounding per
  /// rank. All GPUs get bit-identical results.
  void all_average(std::int64_t n, const std::vector<const float*>& send, const std::vector<float*>& receive,
                   const std::vector<cudaStream_t>& streams);
  /// Part k of the n numbers, sync::part_of(n, k, ranks), belongs to rank k. The function average_parts() is a
  /// reduce-scatter: receive[d] gets rank d's part of the mean of all send, computed as in all_average(). The function
  /// share_parts() is an all-gather in place: every buffer gets each rank's part from that rank's buffer.
  void average_parts(std::int64_t n, const std::vector<const float*>& send, const std::vector<float*>& receive,
                     const std::vector<cudaStream_t>& streams);
  void share_parts(std::int64_t n, const std::vector<float*>& buffers, const std::vector<cudaStream_t>& streams);
  /// Whether a sum may be faster than a mean. NVSwitches with NVLink SHARP can add, but only plain sums of floats, so
  /// that NCCL computes a mean in the GPUs. Every process gets the same answer.
  bool has_adding_switches() const { return can_switches_reduce_; }
  /// Performs device::Backend::exchange() on streams[d].
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>& send, const std::vector<void*>& receive,
                const std::vector<cudaStream_t>& streams);

 private:
  struct OfRank {
    std::size_t own;  ///< index within this process
    const void* send;
    void* receive;
    cudaStream_t stream;
  };
  void exchange_of_rank(device::Collective collective, device::Precision element, std::size_t n, const OfRank& rank);

  std::vector<int> gpus_;
  std::size_t all_;     ///< ranks of all processes
  std::size_t before_;  ///< number of ranks in the processes before this one
  std::vector<ncclComm_t> ranks_;
  bool can_switches_reduce_;
};

}  // namespace lockstep::cuda
