#include "engine/sync/async_easgd.hpp"

#include <utility>

#include "engine/sync/ea_sgd.hpp"

namespace lockstep::sync {

AsyncEasgd::AsyncEasgd(Processes& processes, Layout layout, const std::vector<float>& initial,
                       const AsyncEasgdOptions& options)
    : is_centre_(processes.rank() == 0),
      layout_(std::move(layout)),
      options_(options),
      alpha_(options.alpha.value_or(kElasticBeta / processes.count())),
      center_(ops_, layout_.count),
      worker_(ops_, layout_.count),
      centre_(processes, layout_.count, [this](float* x, double) {
        ops_.elastic_pull(layout_.count, alpha_, center_.data(), x, center_.data());
      }) {
  require(alpha_ >= 0 && alpha_ <= 1, "async EA-SGD: alpha must be in [0, 1]");
  require(options_.weight_decay >= 0, "async EA-SGD: weight decay must not be negative");
  require(options_.tau >= 1, "async EA-SGD: tau must be at least 1");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "async EA-SGD: initial model of the wrong size");
  ops_.upload(layout_.count, initial.data(), center_.data());
  ops_.upload(layout_.count, initial.data(), worker_.data());
}

void AsyncEasgd::step(double learning_rate, const GradientFunction& gradient) {
  const float* g = gradient(0, worker_.data(), iteration_);
  gradient.has_asked_all();
  if ((iteration_ + 1) % options_.tau == 0) centre_.exchange(worker_.data(), learning_rate, options_.tau);
  ops_.sgd_update(layout_, learning_rate, options_.weight_decay, g, worker_.data());
  ++iteration_;
}

void AsyncEasgd::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  state.vector("worker", worker_);
  if (is_centre_) state.vector("center", center_);
}

}  // namespace lockstep::sync
