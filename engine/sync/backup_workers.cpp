#include "engine/sync/backup_workers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "engine/base/random.hpp"

namespace lockstep::sync {
namespace {

constexpr std::uint64_t kStream = 0xBAC0;     // worker j draws from stream kStream + j
constexpr std::uint64_t kDrawsPerStep = 128;  // numbers set aside for one delay

/// Standard gamma variate by Marsaglia & Tsang (2000), "A simple method for generating gamma variables". A shape below
/// 1 is drawn as shape + 1 and scaled by u^(1/shape). Each try succeeds with probability > 0.95, so that the 62 tries
/// that fit beside the other numbers of the step do not run out (probability below 1e-80).
double gamma_variate(double shape, std::uint64_t seed, std::uint64_t stream, std::uint64_t first) {
  const double boost = shape < 1 ? std::pow(random_uniform(seed, stream, first), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t i = first + 2; i + 1 < first + kDrawsPerStep; i += 2) {
    const double x = random_normal(seed, stream, i);
    const double u = random_uniform(seed, stream, i + 1);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
  }
  return boost * d;
}

void check(const BackupOptions& backup) {
  require(backup.workers >= 1, "backup workers: at least one worker");
  require(backup.backups >= 0, "backup workers: the number of backups must not be negative");
  require(backup.delay.scale_s > 0 && backup.delay.shape > 0, "backup workers: scale and shape must be positive");
  require(backup.delay.shift_s >= 0, "backup workers: the shift must not be negative");
}

}  // namespace

double draw_delay(const DelayDistribution& delay, std::uint64_t seed, int worker, std::int64_t step) {
  const std::uint64_t stream = kStream + static_cast<std::uint64_t>(worker);
  const std::uint64_t first = static_cast<std::uint64_t>(step) * kDrawsPerStep;
  double x = 0;
  switch (delay.kind) {
    case DelayDistribution::Kind::kLognormal:
      x = std::exp(delay.shape * random_normal(seed, stream, first));
      break;
    case DelayDistribution::Kind::kGamma:
      x = gamma_variate(delay.shape, seed, stream, first);
      break;
    case DelayDistribution::Kind::kPareto:
      x = std::pow(random_uniform(seed, stream, first), -1 / delay.shape);
      break;
  }
  return delay.shift_s + delay.scale_s * x;
}

BackupWorkers::BackupWorkers(VectorOps& ops, Layout layout, const std::vector<float>& initial,
                             const BackupOptions& backup, UpdateOptions options)
    : ops_(ops),
      layout_(std::move(layout)),
      backup_(backup),
      options_(options),
      parameters_(ops, layout_.count),
      velocity_(ops, layout_.count),
      average_(ops, layout_.count) {
  check(backup_);
  sync::check(options_);
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "backup workers: initial model of wrong size");
  ops_.upload(layout_.count, initial.data(), parameters_.data());
  busy_until_s_.assign(static_cast<std::size_t>(backup_.workers + backup_.backups), 0);
}

/// Who arrives first in this step, and when the N-th does.
BackupStep BackupWorkers::race() {
  const std::size_t workers = busy_until_s_.size();
  std::vector<double> arrival_s(workers);
  for (std::size_t j = 0; j < workers; ++j) {
    const double begin_s = backup_.interrupted ? time_s_ : std::max(time_s_, busy_until_s_[j]);
    arrival_s[j] = begin_s + draw_delay(backup_.delay, backup_.seed, static_cast<int>(j), iteration_);
  }
  std::vector<int> order(workers);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return arrival_s[static_cast<std::size_t>(a)] < arrival_s[static_cast<std::size_t>(b)];
  });
  const auto late = order.begin() + backup_.workers;
  const double end_s = arrival_s[static_cast<std::size_t>(*std::prev(late))];
  for (std::size_t j = 0; j < workers; ++j) {
    // A worker busy with an older step until after this one's end never read these parameters.
    if (busy_until_s_[j] < end_s) busy_until_s_[j] = arrival_s[j];
  }
  const BackupStep step{end_s - time_s_, {order.begin(), late}, {late, order.end()}};
  time_s_ = end_s;
  return step;
}

BackupStep BackupWorkers::step(double learning_rate, const GradientFunction& gradient) {
  BackupStep step = race();
  std::vector<const float*> gradients;
  for (const int worker : step.used) gradients.push_back(gradient(worker, parameters_.data(), iteration_));
  ops_.average(layout_.count, gradients, average_.data());
  update(ops_, layout_, options_, learning_rate, average_.data(), velocity_.data(), parameters_.data());
  ++iteration_;
  return step;
}

void BackupWorkers::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  state.real("time_s", time_s_);
  for (std::size_t j = 0; j < busy_until_s_.size(); ++j) {
    state.real("busy_until_s/" + std::to_string(j), busy_until_s_[j]);
  }
  state.vector("parameters", parameters_);
  state.vector("velocity", velocity_);
}

}  // namespace lockstep::sync
