#pragma once
// Work that a thread of its own repeats, so that it goes on beside something that is timed.
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace lockstep::device {

class Repeater {
 public:
  /// `round` is called again and again while started, on one thread; `settle` after the last round on that thread, and
  /// waits for whatever rounds have left under way.
  explicit Repeater(std::function<void()> round, std::function<void()> settle = {});
  /// Over several processes, whose rounds meet, all must stop after the same one: `round` is told whether it is still
  /// wanted here, and says whether another follows.
  explicit Repeater(std::function<bool(bool is_wanted)> round, std::function<void()> settle = {});
  /// Stops.
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  /// Returns when the first round is done and the next goes on. Throws what that round threw.
  void start();
  /// Returns when nothing goes on any more; rethrows what a round threw. Nothing happens where it is not started.
  void stop();
  /// Done since the last start.
  std::int64_t rounds() const { return rounds_; }

 private:
  void repeat();

  std::function<bool(bool is_wanted)> round_;
  std::function<void()> settle_;
  std::thread thread_;
  std::atomic<bool> goes_on_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<std::int64_t> rounds_{0};
  std::exception_ptr failure_;  ///< read when the thread is gone
};

}  // namespace lockstep::device
