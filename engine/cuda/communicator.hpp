#pragma once
// NCCL between the GPUs of this process.
#include <nccl.h>

#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"

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

 private:
  std::vector<ncclComm_t> ranks_;
};

}  // namespace lockstep::cuda
