#pragma once
// The CUDA backend of the device interface: cuDNN, cuBLASLt, NCCL and kernels of our own. Built where CMake finds the
// CUDA Toolkit, cuDNN and NCCL.
#include <memory>
#include <string>

#include "engine/device/backend.hpp"

namespace lockstep::cuda {

/// GPUs that this process sees. 0 with `why` filled where there is no driver, no GPU, or none that can be used.
int visible_gpus(std::string& why);

/// GPUs 0 .. devices - 1. Throws std::runtime_error in one line: no usable GPU (with the reason), fewer than asked for.
std::unique_ptr<device::Backend> make_cuda_backend(int devices);

}  // namespace lockstep::cuda
