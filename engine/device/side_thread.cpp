#include "engine/device/side_thread.hpp"

#include <utility>

namespace lockstep::device {

SideThread::~SideThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SideThread::submit(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    queue_.push_back(std::move(work));
    ++unfinished_;
  }
  wake_.notify_one();
}

void SideThread::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void SideThread::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    const bool goes_on = !failure_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (goes_on) work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--unfinished_ == 0) idle_.notify_all();
  }
}

}  // namespace lockstep::device
