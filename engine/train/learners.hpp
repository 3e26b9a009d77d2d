#pragma once
// The replicas of the learners: gradients of an iteration, their loss, and batch norm's statistics.
//
// Half precision scales the loss (sync/loss_scale.hpp). If a gradient overflows, the iteration changes only the scale,
// and its batches are lost. All processes drop it if one of them must.
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
  /// `graph`, `backend` and `processes` must outlive this object.
  Learners(device::Backend& backend, const model::Graph& graph, const Settings& settings, const Trainable& trainable,
           sync::Processes& processes);

  /// Runs one iteration on `batches`, one per learner. Returns false if it was dropped. With S-SGD on devices that
  /// judge gradients, it does not wait: a dropped iteration counts, and becomes known in the next one.
  bool step(Trainable& trainable, double learning_rate, const std::vector<data::Batch>& batches);
  /// The mean loss of the last step's gradients over all processes. Waits for them.
  double loss();
  /// The mean loss of the last step's gradients in this process only.
  double own_loss();
  /// True if even an unscaled gradient overflows, so that no later step can succeed.
  bool is_stuck() const { return stuck_; }
  std::int64_t dropped() const { return scale_ ? scale_->overflows() : 0; }
  double loss_scale() const { return scale_ ? scale_->value() : 1; }

  /// The mean of the learners' running statistics over all processes.
  std::vector<float> mean_running_statistics();
  /// Sets the running statistics of all learners.
  void set_running_statistics(const std::vector<float>& statistics);
  /// Creates or removes replicas after the number of learners has changed.
  void match_replicas_to(const Trainable& trainable);
  std::int64_t memory_bytes() const;
  /// The size for one replica; all are equal.
  std::int64_t activation_bytes() const { return replicas_.front()->activation_bytes(); }
  /// Those of the first replica; see device::Replica.
  std::vector<std::string> fallbacks() const { return replicas_.front()->fallbacks(); }
  std::string self_check_text() const { return replicas_.front()->self_check_text(); }
  void visit_state(RunVisitor& state);

 private:
  /// Throws sync::GradientOverflow in all processes if one of them has a non-finite gradient.
  void check_finite(const std::vector<const float*>& gradients);
  void set_scale();
  /// Steps in half precision. checked_step() waits until the gradients are known to be finite. step_with_deferred_check()
  /// does not wait: settle_verdicts() reads the result after a later step.
  bool checked_step(Trainable& trainable, double learning_rate, const sync::GradientFunction::Of& of,
                    const std::vector<const float*>& gradients);
  void step_with_deferred_check(Trainable& trainable, double learning_rate, const sync::GradientFunction::Of& of);
  /// Adapts the loss scale to the verdicts of all steps except the last `but`.
  void settle_verdicts(std::size_t but);
  std::unique_ptr<device::Replica> make_replica(int gpu, int number) const;
  /// The number that learner j uses as its key for dropout, unique in the whole run.
  int number_of(const Trainable& trainable, int j) const;

  device::Backend& backend_;
  const model::Graph& graph_;
  const Settings& settings_;
  sync::Processes& processes_;
  std::int64_t parameters_;
  std::vector<std::unique_ptr<device::Replica>> replicas_;
  std::vector<int> gpus_;   ///< of each replica
  std::vector<int> asked_;  ///< learners that the last step asked for a gradient
  std::optional<sync::LossScale> scale_;
  bool stuck_ = false;
  struct Judged {
    std::shared_ptr<sync::Verdict> verdict;
    double scale;  ///< loss scale of the step
  };
  std::deque<Judged> judged_;  ///< steps without a known verdict
};

}  // namespace lockstep::train
