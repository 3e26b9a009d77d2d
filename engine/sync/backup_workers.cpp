#include "engine/sync/backup_workers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "engine/base/random.hpp"

namespace lockstep::sync {
namespace {

constexpr std::uint64_t kStream = 0xBAC0;     // worker j draws from stream kStream + j
constexpr std::uint64_t kDrawsPerStep = 128;  // random numbers reserved for one delay

/// Draws a standard gamma variate by Marsaglia & Tsang (2000), "A simple method for generating gamma variables". A
/// shape below 1 is drawn as shape + 1 and scaled by u^(1/shape). Each try succeeds with probability > 0.95. A step's
/// numbers suffice for 62 tries, which all fail with a probability below 1e-80.
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

/// The first worker of process `rank`; worker j belongs to process floor(j processes / workers).
int first_of(int rank, int processes, int workers) {
  return static_cast<int>((std::int64_t{rank} * workers + processes - 1) / processes);
}

void check(const BackupOptions& backup, int processes) {
  require(backup.workers >= 1, "backup workers: at least one worker");
  require(backup.backups >= 0, "backup workers: the number of backups must not be negative");
  require(backup.delay.scale_s > 0 && backup.delay.shape > 0, "backup workers: scale and shape must be positive");
  require(backup.delay.shift_s >= 0, "backup workers: the shift must not be negative");
  require(backup.rank >= 0 && backup.rank < processes, "backup workers: no such process");
  require(backup.workers + backup.backups >= processes, "backup workers: fewer workers than processes");
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
      first_(first_of(backup.rank, ops.processes(), backup.workers + backup.backups)),
      own_(first_of(backup.rank + 1, ops.processes(), backup.workers + backup.backups) - first_),
      parameters_(ops, layout_.count),
      updater_(ops, layout_.count, 0, options),
      average_(ops, layout_.count) {
  check(backup_, ops_.processes());
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "backup workers: initial model of wrong size");
  ops_.upload(layout_.count, initial.data(), parameters_.data());
  busy_until_s_.assign(static_cast<std::size_t>(backup_.workers + backup_.backups), 0);
}

/// Determines the workers that arrive first in this step, and the time of the N-th arrival.
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
    // A worker that is busy with an older step until after this step's end skips this step.
    if (busy_until_s_[j] < end_s) busy_until_s_[j] = arrival_s[j];
  }
  const BackupStep step{end_s - time_s_, {order.begin(), late}, {late, order.end()}};
  time_s_ = end_s;
  return step;
}

BackupStep BackupWorkers::step(double learning_rate, const GradientFunction& gradient) {
  BackupStep step = race();
  std::map<int, const float*> by_worker;
  for (const int worker : step.used) {
    if (is_own(worker)) by_worker[worker] = gradient(worker - first_, parameters_.data(), iteration_);
  }
  gradient.has_asked_all();
  std::vector<const float*> gradients;
  for (const auto& entry : by_worker) gradients.push_back(entry.second);
  average(gradients);
  updater_.update(layout_, learning_rate, average_.data(), parameters_.data());
  ++iteration_;
  return step;
}

void BackupWorkers::average(const std::vector<const float*>& gradients) {
  const std::int64_t n = layout_.count;
  float* sum = average_.data();
  if (ops_.processes() == 1) return ops_.average(n, gradients, sum);
  if (gradients.empty()) ops_.zero(n, sum);
  if (!gradients.empty()) ops_.copy(n, gradients.front(), sum);
  for (std::size_t j = 1; j < gradients.size(); ++j) ops_.axpy(n, 1, gradients[j], sum);
  ops_.sum_all(n, {sum});
  ops_.scale(n, 1.0 / backup_.workers, sum);
}

void BackupWorkers::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  state.real("time_s", time_s_);
  for (std::size_t j = 0; j < busy_until_s_.size(); ++j) {
    state.real("busy_until_s/" + std::to_string(j), busy_until_s_[j]);
  }
  state.vector("parameters", parameters_);
  updater_.visit_state(state);
}

}  // namespace lockstep::sync
