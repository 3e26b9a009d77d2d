#pragma once
// A few persistent threads that divide numbered tasks among them. Any thread may run any task. So every task of a
// caller writes its own part of the result, and results do not depend on the number of threads.
//
// A pass has dozens of loops of tens of microseconds, about the time it takes to wake a thread. So helpers spin briefly
// for the next loop before they sleep. A loop ends when its tasks are done, whether or not every helper has joined it.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::host {

class ThreadPool {
 public:
  /// `threads` includes the calling thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Calls task(index, worker) for every index in [0, count) with worker in [0, threads()); returns when all are done.
  /// Tasks must not throw. Allocates nothing.
  template <typename Task>
  void parallel_for(int count, const Task& task) {
    run(
        count, [](const void* what, int index, int worker) { (*static_cast<const Task*>(what))(index, worker); },
        &task);
  }

 private:
  using Call = void (*)(const void* task, int index, int worker);
  void run(int count, Call call, const void* task);
  void help(int worker);
  void work(int worker);
  void close();

  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Call call_ = nullptr;
  const void* task_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};
  // All are written under the mutex.
  std::atomic<unsigned> job_{0};  ///< number of the current job
  std::atomic<int> active_{0};    ///< helpers that work on it
  bool open_ = false;             ///< helpers may still start the current job
  int sleeping_ = 0;              ///< helpers that must be woken
  bool waits_ = false;            ///< the caller sleeps until the last helper has finished
  bool stop_ = false;
};

}  // namespace lockstep::host
