// The CUDA runtime's functions for streams and events.
#include <algorithm>

#include "tests/cuda_emulated/knobs.hpp"
#include "tests/cuda_emulated/machine.hpp"

std::atomic<std::uint64_t> emulated::waits_between_devices{0}, emulated::stream_synchronisations{0};

using namespace emulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(machine().mutex);
  open_context();
  machine().streams.push_back(std::make_shared<Stream>());
  machine().streams.back()->device = current_device;
  *stream = reinterpret_cast<cudaStream_t>(machine().streams.back().get());
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(machine().mutex);
  finish(of(stream));
  machine().streams.remove_if([&](const auto& known) { return known.get() == &of(stream); });
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(machine().mutex);
  ++stream_synchronisations;
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  finish(of(stream));
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Lock lock(machine().mutex);
  append(of(stream), {[=] { function(data); }, nullptr, 0, true});
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  open_context();
  auto* made = new Event;
  made->is_timed = (flags & cudaEventDisableTiming) == 0;
  made->marks->device = current_device;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (of(event).marks->device != on.device) return told(cudaErrorInvalidResourceHandle);
  of(event).captured_on = on.capture ? &on : nullptr;
  if (on.capture) return cudaSuccess;
  const std::shared_ptr<Marks> marks = of(event).marks;
  const std::uint64_t mark = ++marks->asked;
  append(on, {[marks, mark] {
                marks->reached = std::max(marks->reached, mark);
                marks->at = Clock::now() + std::chrono::nanoseconds(clock_ahead_ns);
              },
              nullptr, 0});
  return cudaSuccess;
}
/// In a capture, an event belongs to the graph, unless it is recorded as external: then each launch records it.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (!on.capture || flags != cudaEventRecordExternal) return cudaEventRecord(event, stream);
  if (of(event).marks->device != on.device) return told(cudaErrorInvalidResourceHandle);
  const std::shared_ptr<Marks> marks = of(event).marks;
  append(on, {[marks] {
                marks->reached = ++marks->asked;
                marks->at = Clock::now() + std::chrono::nanoseconds(clock_ahead_ns);
              },
              nullptr, 0});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (of(event).captured_on != nullptr || on.capture) {
    if (of(event).captured_on == &on) return cudaSuccess;
    is_forbidden();  // another stream would join the capture, or the capture would depend on outside work
    return told(cudaErrorStreamCaptureIsolation);
  }
  if (of(event).marks->device != on.device) ++waits_between_devices;
  append(on, {{}, of(event).marks, of(event).marks->asked});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(machine().mutex);
  const Marks& marks = *of(event).marks;
  return marks.reached < marks.asked ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  const Marks& marks = *of(event).marks;
  go_on_until([&, mark = marks.asked] { return marks.reached >= mark; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Lock lock(machine().mutex);
  const Marks& first = *of(start).marks;
  const Marks& last = *of(end).marks;
  if (!of(start).is_timed || !of(end).is_timed || first.asked == 0 || last.asked == 0)
    return told(cudaErrorInvalidResourceHandle);
  if (first.reached < first.asked || last.reached < last.asked) return told(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last.at - first.at).count();
  return cudaSuccess;
}
