#pragma once
// Repeats work on its own thread, so that it runs in parallel with work that is timed.
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace lockstep::device {

class Repeater {
 public:
  /// Calls `round` repeatedly on one thread while started. After the last round, that thread calls `settle`, which must
  /// wait for the work that rounds left in progress.
  explicit Repeater(std::function<void()> round, std::function<void()> settle = {});
  /// For several processes whose rounds communicate and so must all stop after the same round. `round` gets whether
  /// this process wants more rounds, and returns whether another follows.
  explicit Repeater(std::function<bool(bool is_wanted)> round, std::function<void()> settle = {});
  /// Calls stop().
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  /// Returns when the first round is done and the next one runs. Throws the first round's exception.
  void start();
  /// Returns when all rounds have ended; rethrows the exception of a round. Does nothing if not started.
  void stop();
  /// Rounds done since the last start.
  std::int64_t rounds() const { return rounds_; }

 private:
  void repeat();

  std::function<bool(bool is_wanted)> round_;
  std::function<void()> settle_;
  std::thread thread_;
  std::atomic<bool> goes_on_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<std::int64_t> rounds_{0};
  std::exception_ptr failure_;  ///< read after the thread has ended
};

}  // namespace lockstep::device
