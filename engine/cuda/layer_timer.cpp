#include "engine/cuda/layer_timer.hpp"

#include <chrono>
#include <thread>

namespace lockstep::cuda {

LayerTimer::LayerTimer(cudaStream_t stream) : stream_(stream) {
  LOCKSTEP_CUDA_CHECK(cudaLaunchHostFunc(stream_, hold, &open_));
}

LayerTimer::~LayerTimer() {
  open_ = true;
  cudaStreamSynchronize(stream_);
}

// Runs on a thread of the driver, where no CUDA call is allowed.
void LayerTimer::hold(void* open) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLongestHold_s);
  while (!*static_cast<std::atomic<bool>*>(open) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

void LayerTimer::start() {
  begin_.record(stream_);
}

void LayerTimer::mark(int layer, device::LayerPart part) {
  ends_.emplace_back(true);
  ends_.back().record(stream_);
  parts_.push_back({layer, part, 0});
}

std::vector<device::LayerTime> LayerTimer::finish() {
  open_ = true;
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_));
  cudaEvent_t last = begin_;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    float milliseconds = 0;
    LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, last, ends_[i]));
    parts_[i].seconds = double(milliseconds) * 1e-3;
    last = ends_[i];
  }
  return std::move(parts_);
}

}  // namespace lockstep::cuda
