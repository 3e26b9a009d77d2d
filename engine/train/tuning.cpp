#include "engine/train/tuning.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "engine/base/study.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t kIterations = 20;  // processes agree on a decision every 20th iteration only

}  // namespace

Tuning::Tuning(int gpus, sync::Processes& processes, double least_s)
    : processes_(processes), least_s_(least_s), states_(static_cast<std::size_t>(gpus)) {}

Tuning::Tuning(int gpus, sync::Processes& processes, std::vector<TuningDecision> given)
    : processes_(processes), least_s_(0), states_(static_cast<std::size_t>(gpus)), given_(std::move(given)) {}

void Tuning::observe_from(std::int64_t iterations, double train_s) {
  from_iterations_ = iterations;
  from_s_ = train_s;
}

std::vector<int> Tuning::decide(std::int64_t iterations, double train_s, const std::function<bool(int gpu)>& has_room) {
  if (given_) return decide_as_given(iterations);
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

std::vector<int> Tuning::decide_as_given(std::int64_t iterations) {
  std::vector<int> changed;
  for (; next_ < given_->size() && (*given_)[next_].iteration <= iterations; ++next_) {
    const TuningDecision& decision = (*given_)[next_];
    sync::TunerState& state = states_[static_cast<std::size_t>(decision.gpu)];
    state.change = decision.learners - state.learners;
    state.learners = decision.learners;
    changed.push_back(decision.gpu);
  }
  return changed;
}

Json to_json(const TuningDecision& decision) {
  return {{"iteration", decision.iteration}, {"gpu", decision.gpu}, {"learners", decision.learners}};
}

std::vector<TuningDecision> decisions_of_record(const std::string& path, int gpus) {
  const JsonDocument document = JsonDocument::load(path);
  const JsonNode record = document.root();
  record.at("schema").choice({kRunSchema});
  const JsonNode options = record.at("options");
  if (options.at("gpus").integer(1, 1024) != gpus) options.at("gpus").fail("is not --gpus " + std::to_string(gpus));
  std::vector<TuningDecision> decisions;
  std::vector<int> learners(static_cast<std::size_t>(gpus), 1);
  for (const JsonNode& entry : record.at("tuned").items()) {
    const TuningDecision decision{entry.at("iteration").integer(1, std::int64_t{1} << 50),
                                  static_cast<int>(entry.at("gpu").integer(0, gpus - 1)),
                                  static_cast<int>(entry.at("learners").integer(1, kTunedLearners))};
    if (!decisions.empty() && decision.iteration < decisions.back().iteration)
      entry.at("iteration").fail("comes before the one above it");
    int& before = learners[static_cast<std::size_t>(decision.gpu)];
    if (std::abs(decision.learners - before) != 1)
      entry.at("learners").fail("follows " + std::to_string(before) + " learners; allowed: one more or one less");
    before = decision.learners;
    decisions.push_back(decision);
  }
  return decisions;
}

void Tuning::visit_state(sync::StateVisitor& state) {
  if (given_) {
    auto next = static_cast<std::int64_t>(next_);
    state.integer("tuner/next", next);
    next_ = static_cast<std::size_t>(next);
  }
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
