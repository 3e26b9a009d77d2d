#pragma once
// Watches the devices' clocks during a measurement, on its own thread, because the measuring thread waits.
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "calib/sampler.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::calib {

class ClockWatch {
 public:
  using Look = std::function<std::vector<device::ClockState>()>;
  /// Calls `look` once immediately, and then on its own thread every `interval_s` seconds.
  explicit ClockWatch(Look look, double interval_s = 0.02);
  ~ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;

  /// The clocks since the last call, including the current ones.
  ClockSpan since_last();

 private:
  void watch(double interval_s);
  void take();

  Look look_;
  std::mutex mutex_;
  ClockSpan span_;
  std::atomic<bool> goes_on_{true};
  std::thread thread_;
};

}  // namespace lockstep::calib
