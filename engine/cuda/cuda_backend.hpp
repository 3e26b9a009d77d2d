#pragma once
// The CUDA backend of the device interface: cuDNN, cuBLASLt, NCCL and kernels of our own. Built where CMake finds the
// CUDA Toolkit, cuDNN and NCCL.
#include <memory>
#include <string>
#include <vector>

#include "engine/device/backend.hpp"

namespace lockstep::cuda {

/// GPUs that this process sees. 0 with `why` filled where there is no driver, no GPU, or none that can be used.
int visible_gpus(std::string& why);

/// The `devices` GPUs that process number `local_rank` of the `local_count` on this machine takes: its share of those
/// visible, or the first ones where no process sees more than its own. Throws std::runtime_error for too few.
std::vector<int> gpus_of_process(int devices, int visible, int local_rank, int local_count);

/// GPUs 0 .. devices - 1, or with `processes` this process's share. Throws std::runtime_error in one line: no usable
/// GPU (with the reason), fewer than asked for.
std::unique_ptr<device::Backend> make_cuda_backend(int devices, sync::Processes* processes = nullptr);

}  // namespace lockstep::cuda
