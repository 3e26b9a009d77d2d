#pragma once
// Internals of the emulated devices, shared by their sources.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

#include "tests/cuda_emulated/device.hpp"

namespace emulated {

/// Returns a random number below `below`, from a generator with a fixed seed (LOCKSTEP_EMULATED_SEED sets another).
std::size_t draw(std::size_t below);

/// In blocks.cpp.
void run_kernel(const char* kernel, const Configuration& configuration, const std::function<void()>& thread);
const char* running_kernel();

/// In work.cpp: enqueues work that waits for its turn on a stream.
void enqueue(cudaStream_t stream, std::function<void()> work);
int device_of(cudaStream_t stream);
/// Returns true if the stream's device is the current one, as the libraries require when they enqueue.
bool is_current(cudaStream_t stream);

}  // namespace emulated
