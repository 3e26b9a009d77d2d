#include "engine/cuda/communicator.hpp"

namespace lockstep::cuda {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail(call, ncclGetErrorString(result));
}

}  // namespace

Communicator::Communicator(const std::vector<int>& gpus) : ranks_(gpus.size()) {
  check(ncclCommInitAll(ranks_.data(), static_cast<int>(gpus.size()), gpus.data()), "ncclCommInitAll");
}

Communicator::~Communicator() {
  for (ncclComm_t rank : ranks_) ncclCommDestroy(rank);
}

void Communicator::all_reduce(std::int64_t n, const std::vector<float*>& buffers,
                              const std::vector<cudaStream_t>& streams) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    check(ncclAllReduce(buffers[d], buffers[d], static_cast<std::size_t>(n), ncclFloat, ncclSum, ranks_[d], streams[d]),
          "ncclAllReduce");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

}  // namespace lockstep::cuda
