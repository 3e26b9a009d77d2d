#include "engine/sync/async_sgd.hpp"

#include <utility>

namespace lockstep::sync {

AsyncSgd::AsyncSgd(Processes& processes, Layout layout, const std::vector<float>& initial, const UpdateOptions& options)
    : is_centre_(processes.rank() == 0),
      processes_(processes),
      layout_(std::move(layout)),
      parameters_(ops_, layout_.count),
      read_(ops_, layout_.count),
      brought_(ops_, layout_.count),
      updater_(ops_, layout_.count, 0, options),
      centre_(processes, layout_.count, [this](float* x, double learning_rate) {
        updater_.update(layout_, learning_rate, x, parameters_.data());
        ops_.copy(layout_.count, parameters_.data(), x);
      }) {
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "async SGD: initial model of the wrong size");
  ops_.upload(layout_.count, initial.data(), parameters_.data());
}

void AsyncSgd::begin(std::int64_t iterations) {
  if (is_centre_) ops_.copy(layout_.count, parameters_.data(), read_.data());
  processes_.broadcast(static_cast<std::size_t>(layout_.count) * sizeof(float), read_.data());
  centre_.begin(iterations);
}

void AsyncSgd::step(double learning_rate, const GradientFunction& gradient) {
  const float* g = gradient(0, read_.data(), iteration_);
  gradient.has_asked_all();
  ops_.copy(layout_.count, g, brought_.data());
  centre_.exchange(brought_.data(), learning_rate, 1);
  std::swap(brought_, read_);
  ++iteration_;
}

void AsyncSgd::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  if (!is_centre_) return;
  state.vector("parameters", parameters_);
  updater_.visit_state(state);
}

}  // namespace lockstep::sync
