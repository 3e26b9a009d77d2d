#include "engine/train/tuning.hpp"

#include <string>

namespace lockstep::train {
namespace {

constexpr std::int64_t kIterations = 20;  // a decision every so many at most; the others need no agreement

}  // namespace

Tuning::Tuning(int gpus, sync::Processes& processes, double least_s)
    : processes_(processes), least_s_(least_s), states_(static_cast<std::size_t>(gpus)) {}

void Tuning::observe_from(std::int64_t iterations, double train_s) {
  from_iterations_ = iterations;
  from_s_ = train_s;
}

std::vector<int> Tuning::decide(std::int64_t iterations, double train_s, const std::function<bool(int gpu)>& has_room) {
  const std::int64_t done = iterations - from_iterations_;
  if (done == 0 || done % kIterations != 0) return {};
  const double seconds = sync::largest(processes_, train_s - from_s_);
  if (seconds < least_s_) return {};
  std::vector<int> changed;
  for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
    sync::TunerState& state = states_[gpu];
    const double batches_per_s = static_cast<double>(done) / seconds * state.learners;
    const auto number = static_cast<int>(gpu);
    const bool full = sync::largest(processes_, has_room(number) ? 0 : 1) > 0;
    sync::TunerOptions options;
    options.most_learners = full ? state.learners : kTunedLearners;
    state = sync::tune(options, state, batches_per_s);
    if (state.change != 0) changed.push_back(number);
  }
  observe_from(iterations, train_s);
  return changed;
}

void Tuning::visit_state(sync::StateVisitor& state) {
  for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
    const std::string name = "tuner/" + std::to_string(gpu);
    std::int64_t numbers[] = {states_[gpu].learners, states_[gpu].too_many, states_[gpu].change};
    state.integer(name + "/learners", numbers[0]);
    state.integer(name + "/too_many", numbers[1]);
    state.integer(name + "/change", numbers[2]);
    state.real(name + "/throughput", states_[gpu].throughput);
    states_[gpu].learners = static_cast<int>(numbers[0]);
    states_[gpu].too_many = static_cast<int>(numbers[1]);
    states_[gpu].change = static_cast<int>(numbers[2]);
  }
}

}  // namespace lockstep::train
