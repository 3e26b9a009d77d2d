#include "engine/cuda/hold.hpp"

#include <chrono>
#include <thread>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

Hold::Hold(cudaStream_t stream) : stream_(stream) {
  LOCKSTEP_CUDA_CHECK(cudaLaunchHostFunc(stream_, wait, &is_open_));
}

Hold::~Hold() {
  let_go();
  cudaStreamSynchronize(stream_);
}

// Runs on a thread of the driver, where no CUDA call is allowed.
void Hold::wait(void* is_open) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLongest_s);
  while (!*static_cast<std::atomic<bool>*>(is_open) && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
}

}  // namespace lockstep::cuda
