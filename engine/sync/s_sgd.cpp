#include "engine/sync/s_sgd.hpp"

#include <string>
#include <utility>

namespace lockstep::sync {

SSgd::SSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, UpdateOptions options,
           std::optional<std::int64_t> bucket_bytes)
    : ops_(ops), layout_(std::move(layout)), bucket_bytes_(bucket_bytes), mean_(ops, layout_.count, replicas) {
  require(replicas >= 1, "S-SGD: at least one replica");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "S-SGD: initial model of the wrong size");
  for (int j = 0; j < replicas; ++j) {
    parameters_.emplace_back(ops_, layout_.count, j);
    updaters_.emplace_back(ops_, layout_.count, j, options);
    ops_.upload(layout_.count, initial.data(), parameters_.back().data());
  }
}

void SSgd::step(double learning_rate, const GradientFunction& gradient) {
  const std::vector<const float*> means = means_of(gradient);
  const auto update_all = [&] {
    for (std::size_t j = 0; j < parameters_.size(); ++j)
      updaters_[j].update(layout_, learning_rate, means[j], parameters_[j].data());
  };
  if (gradient.is_to_be_judged())
    gradient.judged(ops_.update_where_finite(layout_.count, means, update_all));
  else
    update_all();
  ++iteration_;
}

std::vector<const float*> SSgd::means_of(const GradientFunction& gradient) {
  if (bucket_bytes_ && mean_.can_send_early()) {
    return {mean_.while_computed(*bucket_bytes_, [&](const GradientFunction::ReadyFunction& ready) {
      const float* own = gradient(0, parameters(0).data(), iteration_, &ready);
      gradient.has_asked_all();
      return own;
    })};
  }
  std::vector<const float*> gradients;
  for (int j = 0; j < replicas(); ++j) gradients.push_back(gradient(j, parameters(j).data(), iteration_));
  gradient.has_asked_all();
  return mean_.of(gradients);
}

void SSgd::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t j = 0; j < parameters_.size(); ++j) {
    state.vector("parameters/" + std::to_string(j), parameters_[j]);
    updaters_[j].visit_state(state, "/" + std::to_string(j));
  }
}

}  // namespace lockstep::sync
