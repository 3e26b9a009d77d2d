#include "engine/device/executor.hpp"

#include <utility>

namespace lockstep::device {

Executor::Executor(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Executor::~Executor() {
  try {
    wait();
  } catch (...) {  // the destructor cannot throw
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::submit(std::function<void()> work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(work));
  ++unfinished_;
}

void Executor::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  begun_ = !queue_.empty();
  if (queue_.size() > 1) wake_.notify_all();
  while (!queue_.empty()) work_on_first(lock);
  idle_.wait(lock, [this] { return unfinished_ == 0; });
  begun_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Executor::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || (begun_ && !queue_.empty()); });
    if (stop_) return;
    work_on_first(lock);
  }
}

void Executor::work_on_first(std::unique_lock<std::mutex>& lock) {
  const std::function<void()> work = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && !failure_) failure_ = failure;
  if (--unfinished_ == 0) idle_.notify_all();
}

}  // namespace lockstep::device
