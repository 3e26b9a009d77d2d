#pragma once
// The devices' clocks while something is measured: a thread of its own looks at them, since the one that measures waits.
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
  /// `look` is called from now on, once here and then on a thread of its own every `interval_s`.
  explicit ClockWatch(Look look, double interval_s = 0.02);
  ~ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;

  /// Since the last call, what is now included.
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
