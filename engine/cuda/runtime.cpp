#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

void fail(const char* call, const std::string& why) {
  cudaGetLastError();  // takes the error away, so that it is not blamed on a later launch
  throw std::runtime_error("CUDA: " + std::string(call) + ": " + why);
}

}  // namespace lockstep::cuda
