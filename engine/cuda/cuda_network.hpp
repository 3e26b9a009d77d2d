#pragma once
// A replica on a GPU: the graph's layers on cuDNN, cuBLASLt and our own kernels, one pass captured in a CUDA graph.
#include <memory>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// Throws InputError for a graph that it cannot run, std::runtime_error where CUDA fails.
std::unique_ptr<device::Replica> make_cuda_replica(const model::Graph& graph, const device::ReplicaOptions& options,
                                                   const DeviceStreams& streams);

}  // namespace lockstep::cuda
