#pragma once
// The learners' replicas: gradients of an iteration, their loss, and batch norm's statistics.
//
// Half precision scales the loss (sync/loss_scale.hpp): an iteration with a gradient that overflowed changes nothing
// but the scale, and its batches are lost. All processes drop it if any of them must.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/augment.hpp"
#include "engine/sync/loss_scale.hpp"
#include "engine/train/algorithm.hpp"
#include "engine/train/checkpoint.hpp"

namespace lockstep::train {

class Learners {
 public:
  /// `graph`, `backend` and `processes` must outlive it.
  Learners(device::Backend& backend, const model::Graph& graph, const Settings& settings, const Trainable& trainable,
           sync::Processes& processes);

  /// One iteration on `batches`, one per learner. False where it was dropped. On devices that judge gradients by
  /// themselves nothing is waited for: what S-SGD drops counts as an iteration, and is known when the next is under way.
  bool step(Trainable& trainable, double learning_rate, const std::vector<data::Batch>& batches);
  /// Mean loss of the gradients of the last step, over all processes. Waits for them.
  double loss();
  /// Of those of this process alone.
  double own_loss();
  /// True when not even an unscaled gradient fits: no later step will.
  bool is_stuck() const { return stuck_; }
  std::int64_t dropped() const { return scale_ ? scale_->overflows() : 0; }
  double loss_scale() const { return scale_ ? scale_->value() : 1; }

  /// Mean of the learners' running statistics, over all processes.
  std::vector<float> mean_running_statistics();
  /// Of all learners.
  void set_running_statistics(const std::vector<float>& statistics);
  /// Makes or removes replicas after the number of learners has changed.
  void follow(const Trainable& trainable);
  std::int64_t memory_bytes() const;
  /// Of one replica; all have the same.
  std::int64_t activation_bytes() const { return replicas_.front()->activation_bytes(); }
  /// Of the first replica; see device::Replica.
  std::vector<std::string> slow_paths() const { return replicas_.front()->slow_paths(); }
  std::string self_check() const { return replicas_.front()->self_check(); }
  void visit_state(RunVisitor& state);

 private:
  /// Throws sync::GradientOverflow in all processes where one of them has a gradient that is not finite.
  void check_finite(const std::vector<const float*>& gradients);
  void set_scale();
  /// Of half precision: one that waits for the gradients, and one that does not.
  bool checked_step(Trainable& trainable, double learning_rate, const sync::GradientFunction::Of& of,
                    const std::vector<const float*>& gradients);
  void judged_step(Trainable& trainable, double learning_rate, const sync::GradientFunction::Of& of);
  /// Adapts the loss scale to all but the last `but` steps.
  void settle_verdicts(std::size_t but);
  std::unique_ptr<device::Replica> make(int gpu, int number) const;
  /// Of learner j, by which it draws dropout: no other of the whole run has it.
  int number_of(const Trainable& trainable, int j) const;

  device::Backend& backend_;
  const model::Graph& graph_;
  const Settings& settings_;
  sync::Processes& processes_;
  std::int64_t parameters_;
  std::vector<std::unique_ptr<device::Replica>> replicas_;
  std::vector<int> gpus_;   ///< of each replica
  std::vector<int> asked_;  ///< learners whose gradients the last step took
  std::optional<sync::LossScale> scale_;
  bool stuck_ = false;
  struct Judged {
    std::shared_ptr<sync::Verdict> verdict;
    double scale;  ///< loss scale of the step
  };
  std::deque<Judged> judged_;  ///< steps whose verdicts are not known yet
};

}  // namespace lockstep::train
