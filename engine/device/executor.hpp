#pragma once
// Threads on which learners of the host backend compute concurrently, as on streams of a GPU. submit() does not wait.
// Work starts in the order of submission; wait() waits for all of it.
// The waiting thread also works. It wakes the others when it starts to wait, not at each
// submission. A thread woken on the submitter's processor would displace the submitter and delay
// the next submission. That would cost a fifth of an iteration of LeNet at batch 16 on two
// cores.
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
  /// `threads` >= 1, including the waiting thread.
  explicit Executor(int threads);
  /// Finishes the submitted work.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void submit(std::function<void()> work);
  /// Does part of the work and returns when all is done; rethrows the first exception of any piece.
  void wait();

 private:
  void serve();
  /// Runs the first piece of the queue. `lock` is held before and after, but not while the piece runs.
  void work_on_first(std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  int unfinished_ = 0;
  bool begun_ = false;  ///< a thread is in wait()
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace lockstep::device
