#include "engine/train/backends.hpp"

#include <stdexcept>

#ifdef LOCKSTEP_WITH_CUDA
#include "engine/cuda/cuda_backend.hpp"
#endif

namespace lockstep::train {
namespace {

std::unique_ptr<device::Backend> make_cuda(int gpus, sync::Processes* processes) {
#ifdef LOCKSTEP_WITH_CUDA
  std::string why;
  const int visible = cuda::visible_gpus(why);
  if (visible == 0) throw std::runtime_error("--device cuda: no usable GPU: " + why);
  if (visible < gpus)
    throw std::runtime_error("--gpus " + std::to_string(gpus) + ": this process sees " + std::to_string(visible));
  return cuda::make_cuda_backend(gpus, processes);
#else
  static_cast<void>(gpus);
  static_cast<void>(processes);
  throw std::runtime_error("--device cuda: this build has no CUDA (CMake found no CUDA Toolkit, cuDNN or NCCL)");
#endif
}

}  // namespace

std::unique_ptr<device::Backend> make_backend(const std::string& device, int gpus, int threads,
                                              sync::Processes* processes) {
  return device == "cuda" ? make_cuda(gpus, processes) : device::make_host_backend(gpus, threads, processes);
}

std::unique_ptr<device::Backend> make_backend(const Settings& settings, sync::Processes& processes) {
  return make_backend(settings.request.device, settings.request.gpus, settings.request.threads, &processes);
}

}  // namespace lockstep::train
