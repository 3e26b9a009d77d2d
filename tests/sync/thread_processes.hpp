#pragma once
// Threads that act as processes. Messages between them wait in queues.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/sync/processes.hpp"

namespace lockstep::sync {

/// State that all threads share.
class Post {
 public:
  explicit Post(int count) : count_(count) {}
  int count() const { return count_; }

  void put(int from, int to, std::string bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_[{from, to}].push_back(std::move(bytes));
    changed_.notify_all();
  }
  std::string take(int from, int to) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::deque<std::string>& queue = waiting_[{from, to}];
    changed_.wait(lock, [&] { return !queue.empty(); });
    std::string bytes = std::move(queue.front());
    queue.pop_front();
    return bytes;
  }
  int sender_to(int to) {
    std::unique_lock<std::mutex> lock(mutex_);
    int found = -1;
    changed_.wait(lock, [&] {
      for (int from = 0; from < count_ && found < 0; ++from)
        if (!waiting_[{from, to}].empty()) found = from;
      return found >= 0;
    });
    return found;
  }

 private:
  int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::string>> waiting_;
};

class ThreadOfSeveral final : public Processes {
 public:
  ThreadOfSeveral(Post& post, int rank) : post_(post), rank_(rank) {}
  int count() const override { return post_.count(); }
  int rank() const override { return rank_; }
  void broadcast(std::size_t size_bytes, void* data) override {
    if (rank_ == 0)
      for (int to = 1; to < count(); ++to) post_.put(0, to, {static_cast<char*>(data), size_bytes});
    else
      std::memcpy(data, post_.take(0, rank_).data(), size_bytes);
  }
  std::string send(int from, int to, const std::string& bytes) override {
    if (rank_ == from) post_.put(from, to, bytes);
    return rank_ == to ? post_.take(from, to) : std::string();
  }
  int next_sender() override { return post_.sender_to(rank_); }

 private:
  Post& post_;
  int rank_;
};

/// Runs `work` in `count` concurrent threads, each as one process.
inline void run_as_processes(int count, const std::function<void(Processes&)>& work) {
  Post post(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&post, &work, rank] {
      ThreadOfSeveral process(post, rank);
      work(process);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lockstep::sync
