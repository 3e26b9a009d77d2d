#include "engine/cuda/device_timer.hpp"

#include <algorithm>
#include <deque>

#include "engine/cuda/hold.hpp"

namespace lockstep::cuda {
namespace {

/// The events of one GPU; constructed while that GPU is current.
struct Span {
  explicit Span(int of_device) : device(of_device) {}
  double seconds() const {
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return double(milliseconds) * 1e-3;
  }
  int device;
  Event begin{true}, end{true};
};

void record(CudaVectorOps& ops, std::deque<Span>& spans, Event Span::*event) {
  for (Span& span : spans) {
    const OnDevice on_device(ops.gpu(span.device));
    (span.*event).record(ops.stream_of(span.device));
  }
}

}  // namespace

std::optional<double> device_seconds(CudaVectorOps& ops, sync::Processes& processes, const std::function<void()>& work,
                                     int repeats) {
  std::deque<Span> spans;
  for (int device = 0; device < ops.devices(); ++device) {
    const OnDevice on_device(ops.gpu(device));
    spans.emplace_back(device);
  }
  const OnDevice on_first(ops.gpu(0));
  Event opened;
  Hold hold(ops.stream_of(0));
  opened.record(ops.stream_of(0));
  for (int device = 1; device < ops.devices(); ++device) opened.hold(ops.stream_of(device));
  work();
  record(ops, spans, &Span::begin);
  for (int i = 0; i < repeats; ++i) work();
  record(ops, spans, &Span::end);
  sync::largest(processes, 0);
  hold.let_go();
  double slowest_s = 0;
  for (const Span& span : spans) {
    const OnDevice on_device(ops.gpu(span.device));
    slowest_s = std::max(slowest_s, span.seconds());
  }
  // has_lapsed() is valid now: device 0 has finished its work behind the hold.
  if (sync::largest(processes, hold.has_lapsed() ? 1 : 0) > 0) return std::nullopt;
  return slowest_s;
}

}  // namespace lockstep::cuda
