#include "engine/sync/stale_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/base/random.hpp"

namespace lockstep::sync {
namespace {

constexpr std::uint64_t kStream = 0x57A1E;  // keeps these draws apart from others of the same seed

int largest_staleness(const StalenessOptions& options) {
  return options.drawn ? 2 * options.staleness : options.staleness;
}

}  // namespace

int staleness_at(const StalenessOptions& options, std::int64_t t) {
  double staleness = options.staleness;
  if (options.drawn) {
    const double u = random_uniform(options.seed, kStream, static_cast<std::uint64_t>(t));
    staleness = std::floor(u * (2 * options.staleness + 1));
  }
  if (t < options.ramp_iterations) staleness *= static_cast<double>(t) / static_cast<double>(options.ramp_iterations);
  return static_cast<int>(std::min<std::int64_t>(t, std::llround(staleness)));
}

StaleGradients::StaleGradients(VectorOps& ops, Layout layout, const std::vector<float>& initial,
                               const StalenessOptions& staleness, UpdateOptions options)
    : ops_(ops), layout_(std::move(layout)), staleness_(staleness), options_(options), velocity_(ops, layout_.count) {
  require(staleness_.staleness >= 0, "stale gradients: staleness must not be negative");
  require(staleness_.ramp_iterations >= 0, "stale gradients: the ramp must not be negative");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "stale gradients: initial model of wrong size");
  check(options_);
  for (int i = 0; i <= largest_staleness(staleness_); ++i) ring_.emplace_back(ops_, layout_.count);
  ops_.upload(layout_.count, initial.data(), ring_.front().data());
}

const DeviceVector& StaleGradients::past(int age) const {
  return ring_[static_cast<std::size_t>((iteration_ - age) % static_cast<std::int64_t>(ring_.size()))];
}

void StaleGradients::step(double learning_rate, const GradientFunction& gradient) {
  const float* old = past(staleness_at(staleness_, iteration_)).data();
  const float* g = gradient(0, old, iteration_);
  gradient.has_asked_all();
  const float* newest = parameters().data();
  // The next place of the ring holds the oldest parameters, which no later iteration reaches back to.
  DeviceVector& next = ring_[static_cast<std::size_t>((iteration_ + 1) % static_cast<std::int64_t>(ring_.size()))];
  if (ring_.size() > 1) ops_.copy(layout_.count, newest, next.data());
  update(ops_, layout_, options_, learning_rate, g, velocity_.data(), next.data());
  ++iteration_;
}

void StaleGradients::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t i = 0; i < ring_.size(); ++i) state.vector("past/" + std::to_string(i), ring_[i]);
  state.vector("velocity", velocity_);
}

}  // namespace lockstep::sync
