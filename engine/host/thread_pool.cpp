#include "engine/host/thread_pool.hpp"

#include <chrono>
#include <stdexcept>

namespace lockstep::host {
namespace {

constexpr std::chrono::microseconds kSpin{50};  // the gaps between loops of a pass, and most gaps between passes
constexpr int kPauses = 32;                     // between two readings of the clock

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Polls for kSpin and returns whether the condition became true. Does not yield: on a busy machine, yielding costs a
/// turn of all other threads, whereas a sleeping thread is woken soon.
template <typename Condition>
bool spin_until(const Condition& is_true) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (is_true()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return is_true();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) throw std::invalid_argument("a thread pool needs at least one thread");
  for (int worker = 1; worker < threads; ++worker) helpers_.emplace_back([this, worker] { help(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    ++job_;
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::work(int worker) {
  for (int index = next_.fetch_add(1); index < count_; index = next_.fetch_add(1)) call_(task_, index, worker);
}

void ThreadPool::help(int worker) {
  unsigned seen = 0;
  while (true) {
    spin_until([&] { return job_.load(std::memory_order_relaxed) != seen; });
    std::unique_lock<std::mutex> lock(mutex_);
    if (job_ == seen) {
      ++sleeping_;
      wake_.wait(lock, [&] { return job_ != seen; });
      --sleeping_;
    }
    seen = job_;
    if (stop_) return;
    if (!open_) continue;
    ++active_;
    lock.unlock();
    work(worker);
    lock.lock();
    if (--active_ == 0 && waits_) done_.notify_one();
  }
}

void ThreadPool::run(int count, Call call, const void* task) {
  if (helpers_.empty() || count <= 1) {  // waking helpers would cost more than they save
    for (int index = 0; index < count; ++index) call(task, index, 0);
    return;
  }
  bool wakes = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    call_ = call;
    task_ = task;
    count_ = count;
    next_ = 0;
    open_ = true;
    ++job_;
    wakes = sleeping_ > 0;
  }
  if (wakes) wake_.notify_all();
  work(0);
  close();
}

/// Lets no more helpers start the job, and waits for those that work on it.
void ThreadPool::close() {
  std::unique_lock<std::mutex> lock(mutex_);
  open_ = false;
  if (active_ == 0) return;
  lock.unlock();
  spin_until([this] { return active_.load(std::memory_order_relaxed) == 0; });
  lock.lock();
  waits_ = true;
  done_.wait(lock, [this] { return active_ == 0; });
  waits_ = false;
}

}  // namespace lockstep::host
