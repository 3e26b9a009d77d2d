#include "engine/cuda/hold.hpp"

#include <chrono>
#include <thread>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

Hold::Hold(cudaStream_t stream) : stream_(stream) {
  LOCKSTEP_CUDA_CHECK(cudaLaunchHostFunc(stream_, wait, this));
}

Hold::~Hold() {
  let_go();
  cudaStreamSynchronize(stream_);
}

// The driver calls this on its own thread, where CUDA calls are not allowed.
void Hold::wait(void* hold) {
  Hold& own = *static_cast<Hold*>(hold);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLongest_s);
  while (!own.is_open_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  own.has_lapsed_ = !own.is_open_;
}

}  // namespace lockstep::cuda
