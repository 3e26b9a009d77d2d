#pragma once
// A replica on a GPU: runs the graph's layers with cuDNN, cuBLASLt and our own kernels, and captures a pass in a CUDA
// graph.
#include <memory>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// Throws InputError for a graph that it cannot run, std::runtime_error if CUDA fails.
std::unique_ptr<device::Replica> make_cuda_replica(const model::Graph& graph, const device::ReplicaOptions& options,
                                                   const DeviceStreams& streams);

}  // namespace lockstep::cuda
