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
  const Gradients gradients = gradients_of(gradient);
  const std::vector<const float*>& means = gradients.means;
  if (noise_) {
    const int workers = replicas() * ops_.processes();
    measure_noise(ops_, *noise_->processes, layout_.count, gradients.own, means.front(), workers, noise_->meter);
  }
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

SSgd::Gradients SSgd::gradients_of(const GradientFunction& gradient) {
  Gradients result;
  if (bucket_bytes_ && mean_.can_send_early()) {
    result.means = {mean_.while_computed(*bucket_bytes_, [&](const GradientFunction::ReadyFunction& ready) {
      result.own = {gradient(0, parameters(0).data(), iteration_, &ready)};
      gradient.has_asked_all();
      return result.own.front();
    })};
    return result;
  }
  for (int j = 0; j < replicas(); ++j) result.own.push_back(gradient(j, parameters(j).data(), iteration_));
  gradient.has_asked_all();
  result.means = mean_.of(result.own);
  return result;
}

void SSgd::start_noise_meter(Processes& processes, std::int64_t images) {
  const int workers = replicas() * ops_.processes();
  require(workers >= 2, "noise scale: at least two replicas");
  noise_.emplace(Noise{&processes, {static_cast<double>(images), static_cast<double>(images * workers)}});
}

void SSgd::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t j = 0; j < parameters_.size(); ++j) {
    state.vector("parameters/" + std::to_string(j), parameters_[j]);
    updaters_[j].visit_state(state, "/" + std::to_string(j));
  }
  if (noise_) noise_->meter.visit_state(state);
}

}  // namespace lockstep::sync
