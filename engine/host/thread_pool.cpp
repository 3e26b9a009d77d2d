#include "engine/host/thread_pool.hpp"

#include <stdexcept>

namespace lockstep::host {

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) throw std::invalid_argument("a thread pool needs at least one thread");
  for (int worker = 1; worker < threads; ++worker) helpers_.emplace_back([this, worker] { help(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::work(int worker) {
  for (int index = next_.fetch_add(1); index < count_; index = next_.fetch_add(1)) call_(task_, index, worker);
}

void ThreadPool::help(int worker) {
  unsigned seen = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || job_ != seen; });
    if (stop_) return;
    seen = job_;
    lock.unlock();
    work(worker);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

void ThreadPool::run(int count, Call call, const void* task) {
  if (helpers_.empty() || count <= 1) {  // waking helpers costs more than it could save
    for (int index = 0; index < count; ++index) call(task, index, 0);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    call_ = call;
    task_ = task;
    count_ = count;
    next_ = 0;
    busy_ = static_cast<int>(helpers_.size());
    ++job_;
  }
  wake_.notify_all();
  work(0);
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
}

}  // namespace lockstep::host
