#include "engine/train/pipeline.hpp"

#include <utility>

namespace lockstep::train {

InputPipeline::InputPipeline(const data::ImageSource& source, const data::BatchOrder& order, int batch,
                             std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
                             data::Pixels pixels, data::Allocate allocate)
    : reader_(source, order, batch, augmentation, seed, threads, pixels, std::move(allocate)), batch_(batch) {}

InputPipeline::~InputPipeline() {
  stop();
}

void InputPipeline::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (auto& slot : slots_)
    for (data::Batch& batch : slot) batch.wait_until_read();
}

void InputPipeline::start(std::int64_t position, int learners, int first, int all) {
  stop();
  start_ = position + std::int64_t{first} * batch_;
  learners_ = static_cast<std::size_t>(learners);
  stride_ = std::int64_t{all == 0 ? learners : all} * batch_;
  for (auto& slot : slots_) slot.resize(learners_);
  prepared_ = taken_ = 0;
  failure_ = nullptr;
  stop_ = false;
  thread_ = std::thread([this] { prepare(); });
}

const std::vector<data::Batch>& InputPipeline::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::int64_t iteration = taken_++;
  changed_.notify_all();
  changed_.wait(lock, [&] { return prepared_ > iteration || failure_; });
  if (prepared_ <= iteration) std::rethrow_exception(failure_);
  return slots_[iteration % 2];
}

void InputPipeline::prepare() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    // Iteration i uses the slot of i - 2, which is free once i - 1 has been taken.
    changed_.wait(lock, [this] { return stop_ || prepared_ <= taken_; });
    if (stop_) return;
    const std::int64_t iteration = prepared_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      reader_.read(start_ + iteration * stride_, slots_[iteration % 2]);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (!failure) ++prepared_;
    changed_.notify_all();
    if (failure) return;
  }
}

}  // namespace lockstep::train
