#include "engine/device/repeater.hpp"

#include <utility>

namespace lockstep::device {

Repeater::Repeater(std::function<void()> round, std::function<void()> settle)
    : round_([round = std::move(round)](bool is_wanted) {
        if (is_wanted) round();
        return is_wanted;
      }),
      settle_(std::move(settle)) {}

Repeater::Repeater(std::function<bool(bool is_wanted)> round, std::function<void()> settle)
    : round_(std::move(round)), settle_(std::move(settle)) {}

Repeater::~Repeater() {
  try {
    stop();
  } catch (...) {  // the destructor cannot throw
  }
}

void Repeater::start() {
  stop();
  rounds_ = 0;
  has_failed_ = false;
  goes_on_ = true;
  thread_ = std::thread([this] { repeat(); });
  while (rounds_ == 0 && !has_failed_) std::this_thread::yield();
  if (has_failed_) stop();
}

void Repeater::stop() {
  if (!thread_.joinable()) return;
  goes_on_ = false;
  thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Repeater::repeat() {
  try {
    while (round_(goes_on_)) ++rounds_;
    if (settle_) settle_();
  } catch (...) {
    failure_ = std::current_exception();
    has_failed_ = true;
  }
}

}  // namespace lockstep::device
