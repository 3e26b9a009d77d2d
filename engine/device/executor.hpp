#pragma once
// Threads on which the learners of the host backend compute side by side, as they would on streams of a GPU: work is
// handed in without waiting, starts in the order in which it was handed in, and is waited for all at once.
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::device {

class Executor {
 public:
  explicit Executor(int threads);
  /// Finishes what was handed in.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void submit(std::function<void()> work);
  /// Returns when all work is done; rethrows the first exception that any of it threw.
  void wait();

 private:
  void serve();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  int unfinished_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace lockstep::device
