#include "sim/convergence/critical_batch.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/format_printf.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/student_t.hpp"
#include "engine/sync/noise_scale.hpp"

namespace lockstep::sim::convergence {
namespace {

constexpr double kLeastBatch = 1e-3;  // images; a noise scale of 0 has no logarithm

std::string count_or_dash(const std::optional<CriticalBatch>& critical) {
  if (!critical) return format_printf("%9s %17s", "-", "");
  return format_printf("%9.0f %8.0f to %5.0f", critical->batch, critical->low, critical->high);
}

}  // namespace

std::optional<CriticalBatch> measured_critical_batch(const ProfileRun& run, double iterations) {
  std::vector<sync::NoiseStretch> stretches;
  double before = 0;
  for (const NoiseStretch& stretch : run.noise) {
    const double steps = std::min(stretch.iterations, iterations) - before;
    before = stretch.iterations;
    if (steps > 0) stretches.push_back({steps, {stretch.critical_batch, stretch.low, stretch.high}});
  }
  const sync::NoiseScale mean = sync::mean_by_progress(stretches, run.setting.images());
  if (!mean.batch || !mean.high) return std::nullopt;
  return CriticalBatch{*mean.batch, mean.low, *mean.high, 1};
}

std::optional<CriticalBatch> measured_critical_batch(const std::vector<const ProfileRun*>& runs, std::size_t target) {
  std::vector<double> logs;
  double below = 0, above = 0;
  for (const ProfileRun* run : runs) {
    const TargetReached& reached = run->targets[target];
    if (run->is_diverged || !reached.is_reached) continue;
    const std::optional<CriticalBatch> one = measured_critical_batch(*run, reached.iterations);
    if (!one) continue;
    const double batch = std::max(kLeastBatch, one->batch);
    logs.push_back(std::log(batch));
    below += std::log(batch / std::max(kLeastBatch, std::min(batch, one->low)));
    above += std::log(std::max(batch, one->high) / batch);
  }
  if (logs.empty()) return std::nullopt;
  const auto count = static_cast<double>(logs.size());
  const double scatter = logs.size() < 2 ? 0
                                         : student_t_quantile(0.5 + 0.5 * kIntervalCoverage, count - 1) *
                                               standard_deviation(logs) / std::sqrt(count);
  below = std::max(below / count / std::sqrt(count), scatter);
  above = std::max(above / count / std::sqrt(count), scatter);
  const double batch = std::exp(mean(logs));
  return CriticalBatch{batch, batch * std::exp(-below), batch * std::exp(above), static_cast<int>(logs.size())};
}

std::optional<CriticalBatch> fitted_critical_batch(const ConvergenceFit& fit) {
  if (!fit.table.empty() || fit.law.kind != LawKind::saturating) return std::nullopt;
  const Eigen::Matrix2d& c = fit.law.covariance;
  const double variance = c(0, 0) + c(1, 1) - 2 * c(0, 1);
  const double reach =
      student_t_quantile(0.5 + 0.5 * kIntervalCoverage, fit.law.degrees) * std::sqrt(std::max(0.0, variance));
  const double batch = std::exp(fit.law.parameters(1) - fit.law.parameters(0));
  return CriticalBatch{batch, batch * std::exp(-reach), batch * std::exp(reach), fit.reached + fit.censored};
}

Law law_from_noise_scale(const std::vector<LawObservation>& runs, const CriticalBatch& critical) {
  std::vector<double> logs;
  for (const LawObservation& run : runs) logs.push_back(std::log(run.iterations));
  const double x = runs.front().x, batch = std::max(kLeastBatch, critical.batch);
  const double half_width = std::log(std::max(batch, critical.high) / std::max(kLeastBatch, critical.low)) / 2;
  const double deviation =
      std::hypot(half_width / normal_quantile(0.5 + 0.5 * kIntervalCoverage), kNoiseScaleDeviation);
  Law law;
  law.kind = LawKind::saturating;
  law.spread = standard_deviation(logs);
  law.degrees = static_cast<double>(logs.size()) - 1;
  // The law's parameters are log S_min = log T - log(1 + x_c / x) and log S_min x_c = log S_min + log x_c. Their
  // covariance follows from the covariance of log T and log x_c.
  const double share = batch / (x + batch);
  law.parameters(0) = mean(logs) - std::log1p(batch / x);
  law.parameters(1) = law.parameters(0) + std::log(batch);
  Eigen::Matrix2d jacobian, own = Eigen::Matrix2d::Zero();
  jacobian << 1, -share, 1, 1 - share;
  own(0, 0) = law.spread * law.spread / static_cast<double>(logs.size());
  own(1, 1) = deviation * deviation;
  law.covariance = jacobian * own * jacobian.transpose();
  return law;
}

std::string critical_batches_text(const ConvergenceProfile& profile) {
  std::map<double, std::vector<const ProfileRun*>> by_batch;
  for (const ProfileRun& run : profile.runs)
    if (run.setting.algorithm == Algorithm::s_sgd && !run.noise.empty()) by_batch[run.setting.images()].push_back(&run);
  if (by_batch.empty()) return "";
  std::string text = "\nCritical batch of s-sgd in images, with 80 % intervals:\n" +
                     format_printf("%-22s %8s %5s %27s %27s\n", "target", "batch", "runs", "by gradient noise scale",
                                   "by the law of iterations");
  for (std::size_t target = 0; target < profile.targets.size(); ++target) {
    const ConvergenceFit* fit = profile.fit(Algorithm::s_sgd, "batch", target);
    const std::optional<CriticalBatch> fitted =
        fit != nullptr && fit->from_x < fit->to_x ? fitted_critical_batch(*fit) : std::nullopt;
    for (const auto& [batch, runs] : by_batch) {
      const std::optional<CriticalBatch> measured = measured_critical_batch(runs, target);
      text +=
          format_printf("%-22s %8g %5d %s %s\n", profile.targets[target].name.c_str(), batch,
                        measured ? measured->runs : 0, count_or_dash(measured).c_str(), count_or_dash(fitted).c_str());
    }
  }
  return text;
}

}  // namespace lockstep::sim::convergence
