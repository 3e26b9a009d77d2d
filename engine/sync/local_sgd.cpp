#include "engine/sync/local_sgd.hpp"

#include <string>
#include <utility>

namespace lockstep::sync {

LocalSgd::LocalSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const LocalSgdOptions& options,
                   UpdateOptions update)
    : ops_(ops), layout_(std::move(layout)), options_(options) {
  require(options_.replicas >= 1, "local SGD: at least one replica");
  require(options_.tau >= 1, "local SGD: tau must be at least 1");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "local SGD: initial model of the wrong size");
  for (int j = 0; j < options_.replicas; ++j) {
    for (std::vector<DeviceVector>* vectors : {&parameters_, &averages_}) vectors->emplace_back(ops_, layout_.count, j);
    updaters_.emplace_back(ops_, layout_.count, j, update);
    ops_.upload(layout_.count, initial.data(), parameters_.back().data());
    ops_.upload(layout_.count, initial.data(), averages_.back().data());
  }
}

void LocalSgd::step(double learning_rate, const GradientFunction& gradient) {
  std::vector<const float*> gradients;
  for (int j = 0; j < replicas(); ++j) gradients.push_back(gradient(j, parameters(j).data(), iteration_));
  gradient.has_asked_all();
  for (std::size_t j = 0; j < parameters_.size(); ++j)
    updaters_[j].update(layout_, learning_rate, gradients[j], parameters_[j].data());
  ++iteration_;
  if (iteration_ % options_.tau != 0) return;
  std::vector<const float*> own;
  std::vector<float*> averages;
  for (std::size_t j = 0; j < parameters_.size(); ++j) {
    own.push_back(parameters_[j].data());
    averages.push_back(averages_[j].data());
  }
  ops_.average_all(layout_.count, own, averages);
  for (std::size_t j = 0; j < parameters_.size(); ++j) ops_.copy(layout_.count, averages[j], parameters_[j].data());
}

void LocalSgd::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t j = 0; j < parameters_.size(); ++j) {
    state.vector("parameters/" + std::to_string(j), parameters_[j]);
    updaters_[j].visit_state(state, "/" + std::to_string(j));
    state.vector("average/" + std::to_string(j), averages_[j]);
  }
}

}  // namespace lockstep::sync
