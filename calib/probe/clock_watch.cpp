#include "calib/probe/clock_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockstep::calib {

ClockWatch::ClockWatch(Look look, double interval_s) : look_(std::move(look)) {
  take();
  thread_ = std::thread([this, interval_s] { watch(interval_s); });
}

ClockWatch::~ClockWatch() {
  goes_on_ = false;
  thread_.join();
}

ClockSpan ClockWatch::since_last() {
  take();
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(span_, ClockSpan());
}

void ClockWatch::watch(double interval_s) {
  while (goes_on_) {
    std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
    take();
  }
}

void ClockWatch::take() {
  const std::lock_guard<std::mutex> lock(mutex_);  // a driver handles one call at a time
  for (const device::ClockState& state : look_()) {
    if (state.clock_hz <= 0) continue;
    span_.lowest_hz = span_.lowest_hz > 0 ? std::min(span_.lowest_hz, state.clock_hz) : state.clock_hz;
    span_.ratio = std::min(span_.ratio, state.ratio());
    span_.reasons.insert(state.reasons.begin(), state.reasons.end());
  }
}

}  // namespace lockstep::calib
