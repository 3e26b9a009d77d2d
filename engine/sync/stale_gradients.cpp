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
    : ops_(ops), layout_(std::move(layout)), staleness_(staleness), mean_(ops, layout_.count, staleness.replicas) {
  require(staleness_.staleness >= 0, "stale gradients: staleness must not be negative");
  require(staleness_.ramp_iterations >= 0, "stale gradients: the ramp must not be negative");
  require(staleness_.replicas >= 1, "stale gradients: at least one replica");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "stale gradients: initial model of wrong size");
  for (int j = 0; j < staleness_.replicas; ++j) {
    replicas_.push_back({{}, {ops_, layout_.count, j, options}});
    std::vector<DeviceVector>& ring = replicas_.back().ring;
    for (int i = 0; i <= largest_staleness(staleness_); ++i) ring.emplace_back(ops_, layout_.count, j);
    ops_.upload(layout_.count, initial.data(), ring.front().data());
  }
}

const DeviceVector& StaleGradients::past(int replica, int age) const {
  const std::vector<DeviceVector>& ring = replicas_.at(static_cast<std::size_t>(replica)).ring;
  return ring[static_cast<std::size_t>((iteration_ - age) % static_cast<std::int64_t>(ring.size()))];
}

void StaleGradients::step(double learning_rate, const GradientFunction& gradient) {
  const int age = staleness_at(staleness_, iteration_);
  std::vector<const float*> gradients;
  for (int j = 0; j < replicas(); ++j) gradients.push_back(gradient(j, past(j, age).data(), iteration_));
  gradient.has_asked_all();
  const std::vector<const float*> means = mean_.of(gradients);
  for (int j = 0; j < replicas(); ++j) {
    const auto index = static_cast<std::size_t>(j);
    Replica& replica = replicas_[index];
    const float* newest = parameters(j).data();
    // Overwrites the oldest parameters in the ring, which no later iteration needs.
    const auto places = static_cast<std::int64_t>(replica.ring.size());
    DeviceVector& next = replica.ring[static_cast<std::size_t>((iteration_ + 1) % places)];
    if (places > 1) ops_.copy(layout_.count, newest, next.data());
    replica.updater.update(layout_, learning_rate, means[index], next.data());
  }
  ++iteration_;
}

void StaleGradients::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t j = 0; j < replicas_.size(); ++j) {
    const std::string of = j == 0 ? "" : "/of_" + std::to_string(j);  // old checkpoints name only one replica
    std::vector<DeviceVector>& ring = replicas_[j].ring;
    for (std::size_t i = 0; i < ring.size(); ++i) state.vector("past/" + std::to_string(i) + of, ring[i]);
    replicas_[j].updater.visit_state(state, of);
  }
}

}  // namespace lockstep::sync
