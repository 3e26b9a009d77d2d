#include "engine/sync/ea_sgd.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep::sync {

EaSgd::EaSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const EaSgdOptions& options)
    : ops_(ops),
      layout_(std::move(layout)),
      options_(options),
      alpha_(options.alpha.value_or(kElasticBeta / (options.workers * ops.processes()))) {
  require(options_.workers >= 1, "EA-SGD: at least one worker");
  require(alpha_ >= 0 && alpha_ <= 1, "EA-SGD: alpha must be in [0, 1]");
  require(options_.weight_decay >= 0, "EA-SGD: weight decay must not be negative");
  require(options_.tau >= 1, "EA-SGD: tau must be at least 1");
  require(options_.gpus >= 0, "EA-SGD: a negative number of GPUs");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "EA-SGD: initial model of the wrong size");
  for (int p = 0; p < std::max(1, options_.gpus); ++p) {
    gpus_.push_back({{ops_, layout_.count, p}, {ops_, layout_.count, p}});
    ops_.upload(layout_.count, initial.data(), gpus_.back().center.data());
  }
  for (int j = 0; j < options_.workers; ++j) {
    workers_.push_back({{ops_, layout_.count, options_.gpus > 0 ? gpu_of(j) : j}, 0});
    ops_.upload(layout_.count, initial.data(), workers_.back().parameters.data());
  }
}

void EaSgd::step(double learning_rate, const GradientFunction& gradient) {
  std::vector<const float*> gradients;
  for (int j = 0; j < options_.workers; ++j) {
    gradients.push_back(gradient(j, worker(j).data(), workers_[static_cast<std::size_t>(j)].iteration));
  }
  gradient.has_asked_all();
  if (std::any_of(workers_.begin(), workers_.end(), [this](const Worker& worker) { return exchanges(worker); })) {
    meet(learning_rate, gradients);
  } else {
    for (std::size_t j = 0; j < workers_.size(); ++j) {
      ops_.sgd_update(layout_, learning_rate, options_.weight_decay, gradients[j], workers_[j].parameters.data());
    }
  }
  for (Worker& worker : workers_) ++worker.iteration;
}

/// Every GPU adds its workers' forces. After the all-reduce, each GPU moves its copy of the centre by the same sum, in
/// parallel with the next gradients, which are computed at the workers.
void EaSgd::meet(double learning_rate, const std::vector<const float*>& gradients) {
  std::vector<float*> forces;
  for (Gpu& gpu : gpus_) {
    ops_.zero(layout_.count, gpu.forces.data());
    forces.push_back(gpu.forces.data());
  }
  for (std::size_t j = 0; j < workers_.size(); ++j) {
    float* w = workers_[j].parameters.data();
    if (exchanges(workers_[j])) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(gpu_of(static_cast<int>(j)))];
      ops_.corrected_update(layout_, learning_rate, options_.weight_decay, alpha_, gradients[j], gpu.center.data(), w,
                            gpu.forces.data());
    } else {
      ops_.sgd_update(layout_, learning_rate, options_.weight_decay, gradients[j], w);
    }
  }
  ops_.beside_gradients([&] {
    ops_.sum_all(layout_.count, forces);
    for (Gpu& gpu : gpus_) ops_.axpy(layout_.count, 1, gpu.forces.data(), gpu.center.data());
  });
}

void EaSgd::async_step(int j, double learning_rate, const GradientFunction& gradient) {
  require(ops_.processes() == 1, "EA-SGD: asynchronous workers are in one process");
  Worker& worker = workers_.at(static_cast<std::size_t>(j));
  float* w = worker.parameters.data();
  const float* g = gradient(j, w, worker.iteration);
  gradient.has_asked_all();
  if (exchanges(worker)) {
    float* center = gpus_.front().center.data();
    ops_.elastic_pull(layout_.count, alpha_, center, w, center);
    copy_center();
  }
  ops_.sgd_update(layout_, learning_rate, options_.weight_decay, g, w);
  ++worker.iteration;
}

void EaSgd::copy_center() {
  for (std::size_t p = 1; p < gpus_.size(); ++p) {
    ops_.copy(layout_.count, gpus_.front().center.data(), gpus_[p].center.data());
  }
}

void EaSgd::visit_state(StateVisitor& state) {
  state.vector("center", gpus_.front().center);
  copy_center();
  for (std::size_t j = 0; j < workers_.size(); ++j) {
    state.vector("worker/" + std::to_string(j), workers_[j].parameters);
    state.integer("worker/" + std::to_string(j) + "/iteration", workers_[j].iteration);
  }
}

}  // namespace lockstep::sync
