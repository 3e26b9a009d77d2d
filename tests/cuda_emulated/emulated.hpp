#pragma once
// The emulated devices' inside, shared by its sources.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

#include "tests/cuda_emulated/device.hpp"

namespace emulated {

/// A number below `below`, from a generator with a fixed seed (LOCKSTEP_EMULATED_SEED chooses another).
std::size_t draw(std::size_t below);

/// blocks.cpp
void run_kernel(const char* kernel, const Configuration& configuration, const std::function<void()>& thread);
const char* running_kernel();

/// work.cpp: work that waits for its turn on a stream.
void enqueue(cudaStream_t stream, std::function<void()> work);
int device_of(cudaStream_t stream);
/// Its device is the current one: what the libraries want where they enqueue.
bool is_current(cudaStream_t stream);

}  // namespace emulated
