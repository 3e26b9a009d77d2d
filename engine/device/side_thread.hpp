#pragma once
// A thread that runs submitted work in order, in parallel with the submitter: communication during the computation of a
// gradient. The thread starts with its first piece of work.
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::device {

class SideThread {
 public:
  SideThread() = default;
  /// Finishes the submitted work.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void submit(std::function<void()> work);
  /// Returns when all work is done. Rethrows the first exception, after which no further work ran.
  void wait();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  int unfinished_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace lockstep::device
