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

void Communicator::exchange(device::Collective collective, std::int64_t n, const std::vector<const float*>& send,
                            const std::vector<float*>& receive, const std::vector<cudaStream_t>& streams) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t d = 0; d < ranks_.size(); ++d)
    exchange_of_rank(collective, d, static_cast<std::size_t>(n), send[d], receive[d], streams[d]);
  check(ncclGroupEnd(), "ncclGroupEnd");
}

void Communicator::exchange_of_rank(device::Collective collective, std::size_t rank, std::size_t n, const float* send,
                                    float* receive, cudaStream_t stream) {
  const std::size_t part = n / ranks_.size();
  const ncclComm_t comm = ranks_[rank];
  switch (collective) {
    case device::Collective::all_reduce:
      return check(ncclAllReduce(send, receive, n, ncclFloat, ncclSum, comm, stream), "ncclAllReduce");
    case device::Collective::reduce:
      return check(ncclReduce(send, receive, n, ncclFloat, ncclSum, 0, comm, stream), "ncclReduce");
    case device::Collective::broadcast:
      return check(ncclBroadcast(send, receive, n, ncclFloat, 0, comm, stream), "ncclBroadcast");
    case device::Collective::reduce_scatter:
      return check(ncclReduceScatter(send, receive, part, ncclFloat, ncclSum, comm, stream), "ncclReduceScatter");
    case device::Collective::all_gather:
      return check(ncclAllGather(send, receive, part, ncclFloat, comm, stream), "ncclAllGather");
    case device::Collective::all_to_all:
      for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
        check(ncclSend(send + peer * part, part, ncclFloat, static_cast<int>(peer), comm, stream), "ncclSend");
        check(ncclRecv(receive + peer * part, part, ncclFloat, static_cast<int>(peer), comm, stream), "ncclRecv");
      }
      return;
  }
}

}  // namespace lockstep::cuda
