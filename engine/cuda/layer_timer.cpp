#include "engine/cuda/layer_timer.hpp"

namespace lockstep::cuda {

void LayerTimer::start() {
  begin_.record(stream_);
}

void LayerTimer::mark(int layer, device::LayerPart part) {
  ends_.emplace_back(true);
  ends_.back().record(stream_);
  parts_.push_back({layer, part, 0});
}

std::vector<device::LayerTime> LayerTimer::finish() {
  hold_.let_go();
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
