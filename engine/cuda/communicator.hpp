#pragma once
// NCCL between the GPUs of this process.
#include <nccl.h>

#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

class Communicator {
 public:
  /// A rank on every one of these GPUs, which differ; takes about a second.
  explicit Communicator(const std::vector<int>& gpus);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Every buffers[d], n floats on gpus[d], becomes the sum of all of them, on streams[d]. NCCL chooses the order of
  /// the summation; all GPUs get the same bits.
  void all_reduce(std::int64_t n, const std::vector<float*>& buffers, const std::vector<cudaStream_t>& streams);
  /// device::Backend::exchange() on streams[d].
  void exchange(device::Collective collective, std::int64_t n, const std::vector<const float*>& send,
                const std::vector<float*>& receive, const std::vector<cudaStream_t>& streams);

 private:
  void exchange_of_rank(device::Collective collective, std::size_t rank, std::size_t n, const float* send,
                        float* receive, cudaStream_t stream);

  std::vector<ncclComm_t> ranks_;
};

}  // namespace lockstep::cuda
