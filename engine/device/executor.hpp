#pragma once
// Threads on which the learners of the host backend compute side by side, as they would on streams of a GPU: work is
// handed in without waiting, starts in the order in which it was handed in, and is waited for all at once.
//
// The thread that waits is one of them. It wakes the others when it begins to wait, not at each piece of work: a thread
// woken on the processor of the one that hands in would push it aside, and what comes next would begin late (a fifth of
// an iteration of LeNet at batch 16 on two cores).
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
  /// `threads` >= 1, the waiting one included.
  explicit Executor(int threads);
  /// Work that nobody has waited for is finished.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void submit(std::function<void()> work);
  /// Takes part in the work and returns when all of it is done; rethrows the first exception that any of it threw.
  void wait();

 private:
  void serve();
  /// Does the first piece of the queue; `lock` is held before and after, not meanwhile.
  void work_on_first(std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  int unfinished_ = 0;
  bool begun_ = false;  ///< somebody waits for what is in the queue
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace lockstep::device
