#include "engine/sync/centre.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sync/learner.hpp"

namespace lockstep::sync {
namespace {

/// A worker's message begins with this; the numbers follow.
struct Brought {
  double learning_rate;
  std::int64_t iterations;
};

template <typename Head>
std::string packed(const Head& head, std::int64_t n, const float* x) {
  std::string bytes(sizeof(Head) + static_cast<std::size_t>(n) * sizeof(float), '\0');
  std::memcpy(bytes.data(), &head, sizeof(Head));
  std::memcpy(bytes.data() + sizeof(Head), x, static_cast<std::size_t>(n) * sizeof(float));
  return bytes;
}

template <typename Head>
Head unpacked(const std::string& bytes, std::int64_t n, float* x) {
  Head head;
  if (bytes.size() < sizeof(Head) || bytes.size() - sizeof(Head) != static_cast<std::size_t>(n) * sizeof(float))
    throw std::runtime_error("centre: a message of " + std::to_string(bytes.size()) + " bytes is no model of " +
                             std::to_string(n) + " numbers");
  std::memcpy(&head, bytes.data(), sizeof(Head));
  std::memcpy(x, bytes.data() + sizeof(Head), bytes.size() - sizeof(Head));
  return head;
}

}  // namespace

Centre::Centre(Processes& processes, std::int64_t n, Meet meet) : processes_(processes), n_(n), meet_(std::move(meet)) {
  require(processes.count() >= 2, "centre: at least two processes");
  require(processes.may_change_thread(), "centre: this MPI lets only one thread make calls");
  clear_counts();
}

// Works only if a failure prevented end(). The other workers come once more and are told to stop.
Centre::~Centre() {
  if (!server_.joinable()) return;
  stop();
  server_.join();
}

void Centre::clear_counts() {
  staleness_.clear();
  iterations_of_.assign(static_cast<std::size_t>(processes_.count()), 0);
}

void Centre::begin(std::int64_t iterations) {
  goes_on_ = iterations > 0;
  heard_ = 0;
  wanted_ = iterations;
  done_ = 0;
  last_.assign(static_cast<std::size_t>(processes_.count()), meetings_);
  failure_ = nullptr;
  if (goes_on_ && processes_.rank() == 0) server_ = std::thread([this] { serve(); });
}

void Centre::serve() {
  std::vector<float> x(static_cast<std::size_t>(n_));
  try {
    for (int others = processes_.count() - 1; others > 0;) {
      const int from = processes_.next_sender();
      const Brought brought = unpacked<Brought>(processes_.send(from, 0, {}), n_, x.data());
      const Answer answer = meet(from, x.data(), brought.learning_rate, brought.iterations);
      processes_.send(0, from, packed(answer, n_, x.data()));
      if (answer.goes_on == 0) --others;
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::current_exception();
    wanted_ = 0;
  }
}

Centre::Answer Centre::meet(int process, float* x, double learning_rate, std::int64_t iterations) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto from = static_cast<std::size_t>(process);
  meet_(x, learning_rate);
  const auto age = static_cast<std::size_t>(meetings_ - last_[from]);
  if (staleness_.size() <= age) staleness_.resize(age + 1, 0);
  ++staleness_[age];
  last_[from] = ++meetings_;
  done_ += iterations;
  iterations_of_[from] += iterations;
  return {done_ < wanted_ ? 1 : 0, done_};
}

void Centre::exchange(float* x, double learning_rate, std::int64_t iterations) {
  Answer answer{};
  if (processes_.rank() == 0) {
    answer = meet(0, x, learning_rate, iterations);
  } else {
    processes_.send(processes_.rank(), 0, packed(Brought{learning_rate, iterations}, n_, x));
    answer = unpacked<Answer>(processes_.send(0, processes_.rank(), {}), n_, x);
  }
  goes_on_ = answer.goes_on != 0;
  heard_ = answer.done;
}

void Centre::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_ = 0;
}

std::int64_t Centre::end() {
  goes_on_ = false;
  if (server_.joinable()) server_.join();
  if (failure_) std::rethrow_exception(failure_);
  processes_.broadcast(sizeof(done_), &done_);
  return done_;
}

}  // namespace lockstep::sync
