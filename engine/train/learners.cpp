#include "engine/train/learners.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/train/batch_reader.hpp"
#include "engine/train/tuning.hpp"

namespace lockstep::train {
namespace {

constexpr std::uint64_t kDropoutStream = 0xD409;  // learner j's dropout uses the j-th seed of this stream

}  // namespace

Learners::Learners(device::Backend& backend, const model::Graph& graph, const Settings& settings,
                   const Trainable& trainable, sync::Processes& processes)
    : backend_(backend),
      graph_(graph),
      settings_(settings),
      processes_(processes),
      parameters_(graph.parameter_count()) {
  if (settings.precision == device::Precision::fp16) scale_.emplace();
  backend_.set_gradient_wire(settings.wire);
  match_replicas_to(trainable);
}

std::unique_ptr<device::Replica> Learners::make_replica(int gpu, int number) const {
  device::ReplicaOptions options;
  options.batch = settings_.batch;
  options.device = gpu;
  options.precision = settings_.precision;
  options.seed = random_bits(settings_.request.seed, kDropoutStream, static_cast<std::uint64_t>(number));
  options.is_self_checked = settings_.request.is_self_checked;
  if (settings_.algorithm == Algorithm::s_sgd) options.bucket_bytes = device::kGradientBucketBytes;
  options.learners = settings_.tunes_learners() ? kTunedLearners : settings_.learners_of_process();
  return backend_.make_replica(graph_, options);
}

/// If the auto-tuner adds and removes learners, each GPU has a block of numbers that its learners take in order. The
/// newest learner is removed first, so no number is used twice at a time.
int Learners::number_of(const Trainable& trainable, int j) const {
  if (!settings_.tunes_learners()) return trainable.place().first + j;
  const int gpu = trainable.gpu_of(j);
  int before = 0;
  for (int i = 0; i < j; ++i) before += trainable.gpu_of(i) == gpu ? 1 : 0;
  return (processes_.rank() * settings_.request.gpus + gpu) * kTunedLearners + before;
}

void Learners::match_replicas_to(const Trainable& trainable) {
  // Removes the newest learner of a GPU first, so that the others keep their order and replicas.
  for (int j = 0; j < static_cast<int>(gpus_.size()); ++j) {
    if (j < trainable.learners() && gpus_[to_index(j)] == trainable.gpu_of(j)) continue;
    const bool removed = static_cast<int>(gpus_.size()) > trainable.learners();
    if (!removed) break;
    replicas_.erase(replicas_.begin() + j);
    gpus_.erase(gpus_.begin() + j--);
  }
  for (int j = static_cast<int>(gpus_.size()); j < trainable.learners(); ++j) {
    gpus_.push_back(trainable.gpu_of(j));
    replicas_.push_back(make_replica(gpus_.back(), number_of(trainable, j)));
    // A new replica starts with the running statistics of the first one.
    if (j > 0) replicas_.back()->set_running_statistics(replicas_.front()->running_statistics());
  }
  set_scale();
}

bool Learners::step(Trainable& trainable, double learning_rate, const std::vector<data::Batch>& batches) {
  asked_.clear();
  std::vector<const float*> gradients;
  const auto of = [&](int learner, const float* parameters, std::int64_t iteration,
                      const sync::GradientFunction::ReadyFunction* ready) {
    const BatchForDevice batch(batches[to_index(learner)]);
    const auto number = static_cast<std::uint64_t>(iteration);
    device::Replica& replica = *replicas_[to_index(learner)];
    // If a gradient may overflow, no part is sent before all processes have agreed that none did.
    const float* result = ready != nullptr && !scale_
                              ? replica.gradient_in_parts(parameters, batch.get(), number, *ready)
                              : replica.gradient(parameters, batch.get(), number);
    batch.taken_by(replica);
    asked_.push_back(learner);
    gradients.push_back(result);
    return result;
  };
  if (!scale_) {
    trainable.step(learning_rate, of);
    return true;
  }
  // Adam counts updates, so the host must know whether one was made before the next.
  const bool may_go_on = settings_.algorithm == Algorithm::s_sgd && !sync::is_adam(settings_.rule);
  if (may_go_on && backend_.ops().judges_on_devices()) {
    step_with_deferred_check(trainable, learning_rate, of);
    return true;
  }
  return checked_step(trainable, learning_rate, of, gradients);
}

bool Learners::checked_step(Trainable& trainable, double learning_rate, const sync::GradientFunction::Of& of,
                            const std::vector<const float*>& gradients) {
  const double before = scale_->value();
  try {
    trainable.step(learning_rate, {of, [&] { check_finite(gradients); }});
    scale_->count_good_step();
  } catch (const sync::GradientOverflow&) {
    stuck_ = before == 1;
    scale_->overflow();
    set_scale();
    return false;
  }
  if (scale_->value() != before) set_scale();
  return true;
}

void Learners::step_with_deferred_check(Trainable& trainable, double learning_rate,
                                        const sync::GradientFunction::Of& of) {
  const double scale = scale_->value();
  trainable.step(learning_rate, {of, {}, [&](std::shared_ptr<sync::Verdict> verdict) {
                                   judged_.push_back({std::move(verdict), scale});
                                 }});
  settle_verdicts(1);
}

void Learners::settle_verdicts(std::size_t but) {
  while (judged_.size() > but) {
    const Judged step = judged_.front();
    judged_.pop_front();
    const double before = scale_->value();
    const bool was_made = step.verdict->was_made();
    if (was_made) {
      scale_->count_good_step();
    } else if (step.scale == before) {
      stuck_ = before == 1;
      scale_->overflow();
    } else {
      scale_->overflow_at_former_scale();
    }
    if (scale_->value() != before) set_scale();
  }
}

/// Checks sums of squares: in double, they cannot overflow for finite floats.
void Learners::check_finite(const std::vector<const float*>& gradients) {
  double overflowing = 0;
  for (const float* gradient : gradients) {
    if (!std::isfinite(backend_.ops().dot(parameters_, gradient, gradient))) ++overflowing;
  }
  processes_.sum(1, &overflowing);
  if (overflowing > 0) throw sync::GradientOverflow();
}

void Learners::set_scale() {
  if (!scale_) return;
  for (const auto& replica : replicas_) replica->set_loss_scale(scale_->value());
}

double Learners::loss() {
  double sums[] = {0, static_cast<double>(asked_.size())};
  for (const int learner : asked_) sums[0] += replicas_[to_index(learner)]->loss();
  processes_.sum(2, sums);
  return sums[0] / sums[1];
}

double Learners::own_loss() {
  double sum = 0;
  for (const int learner : asked_) sum += replicas_[to_index(learner)]->loss();
  return sum / static_cast<double>(asked_.size());
}

std::vector<float> Learners::mean_running_statistics() {
  std::vector<double> sum;
  for (const auto& replica : replicas_) {
    const std::vector<float> statistics = replica->running_statistics();
    sum.resize(statistics.size(), 0.0);
    for (std::size_t i = 0; i < statistics.size(); ++i) sum[i] += static_cast<double>(statistics[i]);
  }
  if (sum.empty()) return {};
  sum.push_back(static_cast<double>(replicas_.size()));
  processes_.sum(static_cast<std::int64_t>(sum.size()), sum.data());
  const double count = sum.back();
  sum.pop_back();
  std::vector<float> mean(sum.size());
  std::transform(sum.begin(), sum.end(), mean.begin(), [&](double x) { return static_cast<float>(x / count); });
  return mean;
}

void Learners::set_running_statistics(const std::vector<float>& statistics) {
  for (const auto& replica : replicas_) replica->set_running_statistics(statistics);
}

std::int64_t Learners::memory_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& replica : replicas_) bytes += replica->memory_bytes();
  return bytes;
}

void Learners::visit_state(RunVisitor& state) {
  settle_verdicts(0);
  for (std::size_t j = 0; j < replicas_.size(); ++j) {
    std::vector<float> statistics = replicas_[j]->running_statistics();
    state.floats("running/" + std::to_string(j), statistics);
    replicas_[j]->set_running_statistics(statistics);
  }
  if (!scale_) return;
  scale_->visit_state(state);
  set_scale();
}

}  // namespace lockstep::train
