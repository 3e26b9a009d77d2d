#include <nccl.h>

#include "engine/cuda/libraries/library.hpp"

namespace {

const lockstep::cuda::LoadedLibrary& nccl() {
  static const lockstep::cuda::LoadedLibrary library("libnccl.so." + std::to_string(NCCL_MAJOR),
                                                     LOCKSTEP_NCCL_FOUND_AT);
  return library;
}

}  // namespace

LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclGetVersion, (int* version), (version))
LOCKSTEP_PASS_ON(nccl, const char*, ncclGetErrorString, (ncclResult_t result), (result))
LOCKSTEP_PASS_ON(nccl, const char*, ncclGetLastError, (ncclComm_t comm), (comm))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id), (id))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank),
                 (comm, ranks, id, rank))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclCommDestroy, (ncclComm_t comm), (comm))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclGroupStart, (), ())
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclGroupEnd, (), ())
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclAllReduce,
                 (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                  ncclComm_t comm, cudaStream_t stream),
                 (send, receive, count, type, operation, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclReduce,
                 (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation, int root,
                  ncclComm_t comm, cudaStream_t stream),
                 (send, receive, count, type, operation, root, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclBroadcast,
                 (const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                  cudaStream_t stream),
                 (send, receive, count, type, root, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclReduceScatter,
                 (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                  ncclComm_t comm, cudaStream_t stream),
                 (send, receive, count, type, operation, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclAllGather,
                 (const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                  cudaStream_t stream),
                 (send, receive, count, type, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclSend,
                 (const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
                 (send, count, type, peer, comm, stream))
LOCKSTEP_PASS_ON(nccl, ncclResult_t, ncclRecv,
                 (void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
                 (receive, count, type, peer, comm, stream))
