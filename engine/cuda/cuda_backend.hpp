#pragma once
// The CUDA backend of the device interface, on cuDNN, cuBLASLt, NCCL and our own kernels. It is built if CMake finds
// the CUDA Toolkit, cuDNN and NCCL.
#include <memory>
#include <string>
#include <vector>

#include "engine/device/backend.hpp"

namespace lockstep::cuda {

/// The number of GPUs that this process can use. If 0, `why` gives the reason: no driver, no GPU, or none that is
/// usable.
int visible_gpus(std::string& why);

/// Selects `devices` GPUs for process `local_rank` of `local_count` on this machine. They are its share of the visible
/// GPUs, or the first ones if each process sees only its own. Throws std::runtime_error if there are too few.
std::vector<int> gpus_of_process(int devices, int visible, int local_rank, int local_count);

/// Uses GPUs 0 .. devices - 1, or this process's share if `processes` is given. Throws std::runtime_error, in one line,
/// if no GPU is usable (with the reason) or there are fewer than `devices`.
std::unique_ptr<device::Backend> make_cuda_backend(int devices, sync::Processes* processes = nullptr);

}  // namespace lockstep::cuda
