// Epochs of asynchronous processes: workers iterate independently and meet at a centre (sync/centre.hpp). Processes
// agree only between stretches: evaluation, saving and the end happen there. When process 0's worker notices a signal
// or the time limit, it ends the stretch.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/interrupt.hpp"
#include "engine/train/record.hpp"
#include "engine/train/trainer.hpp"

namespace lockstep::train {

void Trainer::train_at_own_pace(Observer& observer) {
  trainable_->centre()->clear_counts();
  const Request& r = settings_.request;
  while (counted_ < epoch_end() && status_ == "running") {
    one_stretch(observer);
    if (!all_agree(std::isfinite(last_loss_)) || !has_finite_model()) status_ = "diverged";
    if (status_ == "running" && counted_ < epoch_end() && counted_ >= images_at_next_evaluation()) {
      evaluate();
      decide_status();
    }
    if (status_ == "running" && r.max_minutes && counted_ < epoch_end() && all_agree(elapsed_s() > 60 * *r.max_minutes))
      status_ = "time is up";
    if (status_ == "running" && !r.checkpoint.empty() && all_agree(interruption() != 0)) status_ = "interrupted";
  }
}

/// Trains until the next evaluation or the epoch's end.
void Trainer::one_stretch(Observer& observer) {
  sync::Centre& centre = *trainable_->centre();
  const Request& r = settings_.request;
  const std::int64_t batch = settings_.batch, first = counted_;
  const std::int64_t epoch_begin = epoch_end() - order_.count();
  const std::int64_t wanted = std::min(epoch_end(), images_at_next_evaluation()) - counted_;
  const Clock::time_point before = Clock::now();
  double sums[] = {0, 0};  // sum of losses, and their number
  trainable_->begin_stretch((wanted + batch - 1) / batch);
  while (centre.goes_on()) {
    const std::int64_t heard = first + centre.heard() * batch;
    learning_rate_ = sync::learning_rate(schedule_, heard / settings_.global_batch());
    learners_.step(*trainable_, learning_rate_, pipeline_.take());
    position_ += std::int64_t{trainable_->place().all} * batch;
    last_loss_ = learners_.own_loss();
    sums[0] += last_loss_;
    sums[1] += 1;
    const double share = static_cast<double>(heard - epoch_begin) / static_cast<double>(order_.count());
    observer.iteration(static_cast<std::int64_t>(epochs_.size()) + 1, std::min(1.0, share), last_loss_);
    const bool is_late = r.max_minutes && elapsed_s() > 60 * *r.max_minutes;
    const bool is_told_to = !r.checkpoint.empty() && interruption() != 0;
    if (processes_.rank() == 0 && (is_late || is_told_to || !std::isfinite(last_loss_))) centre.stop();
  }
  const std::int64_t made = centre.end();
  const double stretch_s = seconds_between(before, Clock::now());
  epoch_s_ += stretch_s;
  train_s_ += stretch_s;
  counted_ += made * batch;
  epoch_counted_ += made * batch;
  iterations_ += made;
  processes_.sum(2, sums);
  epoch_loss_ += sums[0];
  epoch_losses_ += static_cast<std::int64_t>(sums[1]);
}

}  // namespace lockstep::train
