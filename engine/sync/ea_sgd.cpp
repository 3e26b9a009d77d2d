#include "engine/sync/ea_sgd.hpp"

#include <string>
#include <utility>

namespace lockstep::sync {
namespace {

constexpr double kBeta = 0.9;  // Zhang et al. 2015, section 5: alpha = 0.9 / p

}  // namespace

EaSgd::EaSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const EaSgdOptions& options)
    : ops_(ops),
      layout_(std::move(layout)),
      options_(options),
      alpha_(options.alpha.value_or(kBeta / options.workers)),
      center_(ops, layout_.count),
      forces_(ops, layout_.count) {
  require(options_.workers >= 1, "EA-SGD: at least one worker");
  require(alpha_ >= 0 && alpha_ <= 1, "EA-SGD: alpha must be in [0, 1]");
  require(options_.weight_decay >= 0, "EA-SGD: weight decay must not be negative");
  require(options_.tau >= 1, "EA-SGD: tau must be at least 1");
  require(options_.gpus >= 0, "EA-SGD: a negative number of GPUs");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "EA-SGD: initial model of the wrong size");
  ops_.upload(layout_.count, initial.data(), center_.data());
  for (int j = 0; j < options_.workers; ++j) {
    const int device = options_.gpus > 0 ? j * options_.gpus / options_.workers : j;
    workers_.push_back({{ops_, layout_.count, device}, 0});
    ops_.upload(layout_.count, initial.data(), workers_.back().parameters.data());
  }
}

void EaSgd::step(double learning_rate, const GradientFunction& gradient) {
  std::vector<const float*> gradients;
  for (int j = 0; j < options_.workers; ++j) {
    gradients.push_back(gradient(j, worker(j).data(), workers_[static_cast<std::size_t>(j)].iteration));
  }
  ops_.zero(layout_.count, forces_.data());
  for (std::size_t j = 0; j < workers_.size(); ++j) {
    Worker& worker = workers_[j];
    float* w = worker.parameters.data();
    if (exchanges(worker)) {
      ops_.corrected_update(layout_, learning_rate, options_.weight_decay, alpha_, gradients[j], center_.data(), w,
                            forces_.data());
    } else {
      ops_.sgd_update(layout_, learning_rate, options_.weight_decay, gradients[j], w);
    }
    ++worker.iteration;
  }
  ops_.axpy(layout_.count, 1, forces_.data(), center_.data());
}

void EaSgd::async_step(int j, double learning_rate, const GradientFunction& gradient) {
  Worker& worker = workers_.at(static_cast<std::size_t>(j));
  float* w = worker.parameters.data();
  const float* g = gradient(j, w, worker.iteration);
  if (exchanges(worker)) ops_.elastic_pull(layout_.count, alpha_, center_.data(), w, center_.data());
  ops_.sgd_update(layout_, learning_rate, options_.weight_decay, g, w);
  ++worker.iteration;
}

void EaSgd::visit_state(StateVisitor& state) {
  state.vector("center", center_);
  for (std::size_t j = 0; j < workers_.size(); ++j) {
    state.vector("worker/" + std::to_string(j), workers_[j].parameters);
    state.integer("worker/" + std::to_string(j) + "/iteration", workers_[j].iteration);
  }
}

}  // namespace lockstep::sync
