#include "engine/cuda/layer_timer.hpp"

#include <stdexcept>
#include <utility>

#include "engine/cuda/hold.hpp"

namespace lockstep::cuda {

void LayerTimer::record(cudaEvent_t event) const {
  LOCKSTEP_CUDA_CHECK(
      cudaEventRecordWithFlags(event, stream_, is_captured_ ? cudaEventRecordExternal : cudaEventRecordDefault));
}

void LayerTimer::start() {
  record(begin_);
}

void LayerTimer::mark(int layer, device::LayerPart part) {
  ends_.emplace_back(true);
  record(ends_.back());
  parts_.push_back({layer, part, 0});
}

std::vector<device::LayerTime> LayerTimer::times() const {
  std::vector<device::LayerTime> parts = parts_;
  cudaEvent_t last = begin_;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    float milliseconds = 0;
    LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, last, ends_[i]));
    parts[i].seconds = double(milliseconds) * 1e-3;
    last = ends_[i];
  }
  return parts;
}

std::vector<device::LayerTime> TimedPass::run(const std::function<void(LayerTimer&)>& enqueue) {
  if (!std::exchange(has_tried_, true)) {
    timer_ = std::make_unique<LayerTimer>(stream_, true);
    graph_.capture(stream_, [&] { enqueue(*timer_); });
  }
  if (!graph_.replayed()) return run_held(enqueue);
  graph_.run(stream_, [] {});
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_));
  return timer_->times();
}

std::vector<device::LayerTime> TimedPass::run_held(const std::function<void(LayerTimer&)>& enqueue) const {
  LayerTimer timer(stream_, false);
  bool has_lapsed = false;
  {
    Hold hold(stream_);
    enqueue(timer);
    hold.let_go();
    LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_));
    has_lapsed = hold.has_lapsed();
  }
  if (!has_lapsed) return timer.times();
  throw std::runtime_error(
      "layers are not timed: the pass took longer to enqueue than its stream could be held, so that launches would "
      "count, and it cannot be captured: " +
      graph_.refusal());
}

}  // namespace lockstep::cuda
