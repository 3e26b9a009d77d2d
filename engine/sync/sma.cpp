#include "engine/sync/sma.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep::sync {
namespace {

void check(const SmaOptions& options, int processes) {
  require(options.gpus >= 1, "SMA: at least one GPU");
  require(options.learners_per_gpu >= 1, "SMA: at least one learner per GPU");
  require(!options.alpha || (*options.alpha >= 0 && *options.alpha <= 1), "SMA: alpha must be in [0, 1]");
  require(options.momentum >= 0 && options.momentum < 1, "SMA: momentum must be in [0, 1)");
  require(options.weight_decay >= 0, "SMA: weight decay must not be negative");
  require(options.tau >= 0, "SMA: tau must be at least 1, or kNever");
  require(options.restart_drop > 0 && options.restart_drop <= 1, "SMA: restart_drop must be in (0, 1]");
  require(options.rank >= 0 && options.rank < processes, "SMA: no such process");
}

}  // namespace

Sma::Sma(VectorOps& ops, Layout layout, const std::vector<float>& initial, const SmaOptions& options)
    : ops_(ops), layout_(std::move(layout)), options_(options) {
  check(options_, ops_.processes());
  const std::int64_t n = layout_.count;
  require(static_cast<std::int64_t>(initial.size()) == n, "SMA: initial model of the wrong size");
  for (int p = 0; p < options_.gpus; ++p) {
    gpus_.push_back({{ops_, n, p}, {ops_, n, p}, {ops_, n, p}, std::nullopt});
    Gpu& gpu = gpus_.back();
    ops_.upload(n, initial.data(), gpu.average.data());
    ops_.upload(n, initial.data(), gpu.previous.data());
    const bool is_central = options_.rank == 0 && p == 0;
    if (options_.averaging == Averaging::kReferencePerGpu && !is_central) {
      gpu.reference = Reference{{ops_, n, p}, {ops_, n, p}};
      ops_.upload(n, initial.data(), gpu.reference->model.data());
    }
    for (int j = 0; j < options_.learners_per_gpu; ++j) add_learner(p);
  }
}

void Sma::step(double learning_rate, const GradientFunction& gradient) {
  if (last_learning_rate_ && learning_rate < (1 - options_.restart_drop) * *last_learning_rate_) restart();
  last_learning_rate_ = learning_rate;

  std::vector<const float*> gradients;
  for (int j = 0; j < learners(); ++j) gradients.push_back(gradient(j, replica(j).data(), iteration_));
  gradient.has_asked_all();

  if (!synchronises()) {
    update_independently(learning_rate, gradients);
  } else {
    synchronise_learners(learning_rate, gradients);
    ops_.beside_gradients([this] { synchronise_globally(); });
  }
  ++iteration_;
}

bool Sma::synchronises() const {
  return options_.tau != kNever && (iteration_ + 1) % options_.tau == 0;
}

void Sma::update_independently(double learning_rate, const std::vector<const float*>& gradients) {
  for (std::size_t j = 0; j < learners_.size(); ++j) {
    ops_.sgd_update(layout_, learning_rate, options_.weight_decay, gradients[j], learners_[j].replica.data());
  }
}

/// Local synchronisation: gradient and correction in one pass, the corrections summed per GPU.
void Sma::synchronise_learners(double learning_rate, const std::vector<const float*>& gradients) {
  for (Gpu& gpu : gpus_) {
    ops_.zero(layout_.count, gpu.corrections.data());
    if (gpu.reference) ops_.zero(layout_.count, gpu.reference->corrections.data());
  }
  for (std::size_t j = 0; j < learners_.size(); ++j) {
    Learner& learner = learners_[j];
    Gpu& gpu = gpus_[static_cast<std::size_t>(learner.gpu)];
    float* corrections = gpu.reference ? gpu.reference->corrections.data() : gpu.corrections.data();
    ops_.corrected_update(layout_, learning_rate, options_.weight_decay, alpha(), gradients[j],
                          reference(learner.gpu).data(), learner.replica.data(), corrections);
  }
}

/// Pulls r_p to z before adding its learners' corrections. Both are differences of the models at the beginning of the
/// iteration.
void Sma::pull_reference(Gpu& gpu) {
  if (!gpu.reference) return;
  float* model = gpu.reference->model.data();
  ops_.elastic_pull(layout_.count, alpha(), gpu.average.data(), model, gpu.corrections.data());
  ops_.axpy(layout_.count, 1, gpu.reference->corrections.data(), model);
}

/// All-reduces the corrections; then every GPU updates its copy of z in the same way.
void Sma::synchronise_globally() {
  std::vector<float*> corrections;
  for (Gpu& gpu : gpus_) {
    pull_reference(gpu);
    corrections.push_back(gpu.corrections.data());
  }
  ops_.sum_all(layout_.count, corrections);
  for (Gpu& gpu : gpus_) {
    ops_.average_model_update(layout_.count, options_.momentum, gpu.corrections.data(), gpu.average.data(),
                              gpu.previous.data());
  }
}

void Sma::restart() {
  for (Gpu& gpu : gpus_) {
    ops_.copy(layout_.count, gpu.average.data(), gpu.previous.data());
    if (gpu.reference) ops_.copy(layout_.count, gpu.average.data(), gpu.reference->model.data());
  }
  for (Learner& learner : learners_) {
    const Gpu& gpu = gpus_[static_cast<std::size_t>(learner.gpu)];
    ops_.copy(layout_.count, gpu.average.data(), learner.replica.data());
  }
  ++restarts_;
}

const DeviceVector& Sma::reference(int gpu) const {
  const Gpu& of = gpus_.at(static_cast<std::size_t>(gpu));
  return of.reference ? of.reference->model : of.average;
}

void Sma::add_learner(int gpu) {
  const DeviceVector& start = reference(gpu);
  learners_.push_back({gpu, {ops_, layout_.count, gpu}});
  ops_.copy(layout_.count, start.data(), learners_.back().replica.data());
}

void Sma::remove_learner(int gpu) {
  require(learners_on(gpu) > 1, "SMA: the last learner of a GPU cannot be removed");
  const auto on_gpu = [gpu](const Learner& learner) { return learner.gpu == gpu; };
  const auto youngest = std::find_if(learners_.rbegin(), learners_.rend(), on_gpu);
  learners_.erase(std::next(youngest).base());
}

int Sma::learners_on(int gpu) const {
  const auto on_gpu = [gpu](const Learner& learner) { return learner.gpu == gpu; };
  return static_cast<int>(std::count_if(learners_.begin(), learners_.end(), on_gpu));
}

double Sma::alpha() const {
  if (options_.alpha) return *options_.alpha;
  if (options_.averaging == Averaging::kOneAverage) return 1.0 / all_learners();
  int most = 0;
  for (int p = 0; p < options_.gpus; ++p) most = std::max(most, learners_on(p));
  return 1.0 / (most + options_.gpus * ops_.processes() - 1);
}

void Sma::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  state.integer("restarts", restarts_);
  double last = last_learning_rate_.value_or(0);  // 0 means none: rates are positive
  state.real("last_learning_rate", last);
  last_learning_rate_ = last > 0 ? std::optional<double>(last) : std::nullopt;
  for (std::size_t p = 0; p < gpus_.size(); ++p) {
    state.vector("average/" + std::to_string(p), gpus_[p].average);
    state.vector("previous/" + std::to_string(p), gpus_[p].previous);
    if (gpus_[p].reference) state.vector("reference/" + std::to_string(p), gpus_[p].reference->model);
  }
  std::int64_t count = learners();
  state.integer("learners", count);
  while (learners() > count) learners_.pop_back();
  while (learners() < count) add_learner(0);
  for (std::size_t j = 0; j < learners_.size(); ++j) {
    Learner& learner = learners_[j];
    std::int64_t gpu = learner.gpu;
    state.integer("gpu/" + std::to_string(j), gpu);
    if (gpu != learner.gpu) learner = {static_cast<int>(gpu), {ops_, layout_.count, static_cast<int>(gpu)}};
    state.vector("replica/" + std::to_string(j), learner.replica);
  }
}

}  // namespace lockstep::sync
