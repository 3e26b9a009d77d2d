#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {
namespace {

/// "engine/cuda/x.cpp:12: ", independent of the folder of the build.
std::string place(const char* file, int line) {
  if (file == nullptr) return "";
  const std::string path = file;
  const std::size_t room = path.rfind("engine/");
  return path.substr(room == std::string::npos ? 0 : room) + ":" + std::to_string(line) + ": ";
}

std::string mib(std::size_t size_bytes) {
  return std::to_string(size_bytes >> 20) + " MiB";
}

}  // namespace

void fail(const std::string& call, const std::string& why, const char* file, int line) {
  forget_cuda_error();
  throw std::runtime_error("CUDA: " + place(file, line) + call + ": " + why);
}

void fail_to_allocate(const char* call, std::size_t size_bytes, cudaError_t error) {
  std::string why = std::string(cudaGetErrorString(error)) + ", " + mib(size_bytes) + " asked for";
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
    why += " on GPU " + std::to_string(device) + ", which has " + mib(free_bytes) + " free of " + mib(total_bytes);
  }
  fail(call, why);
}

}  // namespace lockstep::cuda
