#include "sim/loss/loss_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/json.hpp"
#include "engine/base/statistics.hpp"
#include "sim/convergence/law.hpp"

namespace lockstep::sim::loss {
namespace {

constexpr double kDegrees = 4;
constexpr double kLeastSpread = 5e-4;  // two evaluations of one model differ by this much
constexpr int kMostSteps = 500;
constexpr double kTolerance = 1e-11;
constexpr std::size_t kFewestRuns = 2;  // of a fit
constexpr std::size_t kFewestSizes = 3;
constexpr double kPriorRuns = 1;  // weight of the prior law's spread, in runs (assumed)

/// The other law's parameters with their uncertainty, at least prior_deviations(). Parameters that it lacks are
/// fixed.
struct Prior {
  LossVector mean;
  LossVector precision;  ///< 1 / variance
  LossVector is_free;
  LossVector is_observable;  ///< 0: the runs do not determine it, so it stays at its mean
};

Prior prior_about(const LossLaw& law, const std::vector<LossPoint>& points) {
  const LossVector deviations = prior_deviations();
  Prior prior{law.parameters, LossVector::Zero(), LossVector::Ones(), LossVector::Ones()};
  if (!has_several_batches(points)) prior.is_observable[kLogCritical] = prior.is_observable[kCriticalExponent] = 0;
  for (int i = 0; i < kLossParameters; ++i) {
    prior.precision[i] = 1 / std::max(deviations[i] * deviations[i], law.covariance(i, i));
    if (!std::isfinite(law.parameters[i])) prior.is_free[i] = 0;
  }
  return prior;
}

double residual_of(const LossLaw& law, const LossPoint& p) {
  return std::log(loss_of(law, p.parameters, p.tokens, p.batch_tokens)) - std::log(p.loss);
}

LossVector gradient_of(const LossLaw& law, const LossPoint& point, const Prior& prior) {
  LossVector gradient = LossVector::Zero();
  LossLaw moved = law;
  for (int i = 0; i < kLossParameters; ++i) {
    if (prior.is_free[i] == 0 || prior.is_observable[i] == 0) continue;
    const double step = 1e-6;
    moved.parameters[i] = law.parameters[i] + step;
    const double above = residual_of(moved, point);
    moved.parameters[i] = law.parameters[i] - step;
    gradient[i] = (above - residual_of(moved, point)) / (2 * step);
    moved.parameters[i] = law.parameters[i];
  }
  return gradient;
}

/// Returns -log posterior without its constants: Student's t of the residuals at a given scale, and the prior.
double misfit(const LossLaw& law, const std::vector<LossPoint>& points, const Prior& prior, double spread) {
  double sum = 0;
  for (const LossPoint& point : points) {
    const double z = residual_of(law, point) / spread;
    sum += 0.5 * (kDegrees + 1) * std::log1p(z * z / kDegrees);
  }
  for (int i = 0; i < kLossParameters; ++i) {
    const double off = prior.is_free[i] == 0 ? 0 : law.parameters[i] - prior.mean[i];
    sum += 0.5 * off * off * prior.precision[i];
  }
  return std::isfinite(sum) ? sum : 1e300;
}

double weight_of(double residual, double spread) {
  const double z = residual / spread;
  return (kDegrees + 1) / (kDegrees + z * z);
}

/// Holds the Gauss-Newton matrix of the posterior at `law`, and its gradient.
struct Curvature {
  LossMatrix matrix = LossMatrix::Zero();
  LossVector gradient = LossVector::Zero();
};

Curvature curvature_at(const LossLaw& law, const std::vector<LossPoint>& points, const Prior& prior, double spread) {
  Curvature c;
  for (const LossPoint& point : points) {
    const double residual = residual_of(law, point);
    const double weight = weight_of(residual, spread) / (spread * spread);
    const LossVector g = gradient_of(law, point, prior);
    c.matrix += weight * g * g.transpose();
    c.gradient += weight * residual * g;
  }
  for (int i = 0; i < kLossParameters; ++i) {
    if (prior.is_free[i] == 0) {
      c.matrix(i, i) = 1;  // fixed: no step
      continue;
    }
    c.matrix(i, i) += prior.precision[i];
    c.gradient[i] += prior.precision[i] * (law.parameters[i] - prior.mean[i]);
  }
  return c;
}

/// Takes one Levenberg-Marquardt step at a given spread. Returns false if no step lowers the misfit.
bool improve(LossLaw& law, const std::vector<LossPoint>& points, const Prior& prior, double spread, double& damping) {
  const double before = misfit(law, points, prior, spread);
  const Curvature c = curvature_at(law, points, prior, spread);
  for (int attempt = 0; attempt < 40; ++attempt) {
    LossMatrix damped = c.matrix;
    damped.diagonal() *= 1 + damping;
    LossLaw moved = law;
    const LossVector step = damped.ldlt().solve(c.gradient);
    for (int i = 0; i < kLossParameters; ++i)
      if (prior.is_free[i] != 0) moved.parameters[i] -= step[i];
    const double after = misfit(moved, points, prior, spread);
    if (after < before) {
      law.parameters = moved.parameters;
      damping = std::max(damping / 8, 1e-12);
      return before - after > kTolerance * std::max(1.0, std::abs(before));
    }
    damping *= 4;
  }
  return false;
}

/// Returns the number of parameters that the points determine: the trace of their part of the curvature over the whole.
double determined_parameters(const Curvature& c, const Prior& prior) {
  double count = 0;
  const LossMatrix inverse = c.matrix.ldlt().solve(LossMatrix::Identity());
  for (int i = 0; i < kLossParameters; ++i)
    if (prior.is_free[i] != 0) count += 1 - inverse(i, i) * prior.precision[i];
  return std::max(0.0, count);
}

/// Returns the scale of Student's t. The points have lost a degree of freedom for each parameter that they determine.
double spread_of(const LossLaw& law, const std::vector<LossPoint>& points, const Prior& prior, double spread,
                 double prior_spread) {
  double sum = kPriorRuns * prior_spread * prior_spread;
  for (const LossPoint& point : points) {
    const double residual = residual_of(law, point);
    sum += weight_of(residual, spread) * residual * residual;
  }
  const double determined = determined_parameters(curvature_at(law, points, prior, spread), prior);
  const double free = std::max(0.0, static_cast<double>(points.size()) - determined);
  return std::max(kLeastSpread, std::sqrt(sum / (free + kPriorRuns)));
}

/// Returns the number of points over the number of independent points with as much information. Points of one size
/// share the error of the law at that size. (Design effect, Kish 1965: 1 + (points of a size - 1) times their
/// residuals' correlation.)
double design_effect(const LossLaw& law, const std::vector<LossPoint>& points) {
  std::map<double, std::vector<double>> sizes;
  for (const LossPoint& point : points) {
    const double residual = residual_of(law, point);
    sizes[point.parameters].push_back(residual * std::sqrt(weight_of(residual, law.spread)));
  }
  if (sizes.size() < 2 || sizes.size() == points.size()) return 1;
  double of_pairs = 0, of_all = 0, pairs = 0;
  for (const auto& [size, residuals] : sizes)
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      of_all += residuals[i] * residuals[i];
      for (std::size_t j = 0; j < i; ++j, ++pairs) of_pairs += residuals[i] * residuals[j];
    }
  if (pairs == 0 || of_all == 0) return 1;
  const double n = static_cast<double>(points.size());
  const double correlation = std::clamp(of_pairs / pairs / (of_all / n), 0.0, 1.0);
  return 1 + (2 * pairs / n) * correlation;
}

Interval range_of(const std::vector<LossPoint>& points, double LossPoint::*field) {
  Interval range;
  for (const LossPoint& point : points) {
    if (point.*field <= 0) continue;
    range.low = range.high == 0 ? point.*field : std::min(range.low, point.*field);
    range.high = std::max(range.high, point.*field);
  }
  return range;
}

std::vector<LossPoint> without_size(const std::vector<LossPoint>& points, double size, bool keeps_size) {
  std::vector<LossPoint> kept;
  for (const LossPoint& point : points)
    if ((point.parameters == size) == keeps_size) kept.push_back(point);
  return kept;
}

/// Returns ln of predicted over true tokens, or 9 (a factor of 8,000) if the law says that the loss is out of reach.
double log_error_of_tokens(const LossLaw& law, const LossPoint& point) {
  const double tokens = tokens_at_batch(law, minimal_tokens_to(law, point.parameters, point.loss), point.batch_tokens);
  return std::isinf(tokens) ? 9 : std::log(tokens / point.tokens);
}

struct LeftOut {
  double parameters, log_error;
  double log_loss_error;  // ln(predicted / true) loss
  double reach;           // |ln(loss / predicted)| over the interval's half width
};

std::vector<LeftOut> leave_out(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage) {
  std::set<double> sizes;
  for (const LossPoint& point : points) sizes.insert(point.parameters);
  std::vector<LeftOut> all;
  if (sizes.size() < 2) return all;
  for (const double size : sizes) {
    const std::vector<LossPoint> others = without_size(points, size, false);
    if (others.size() < kFewestRuns) continue;
    const LossLaw law = fit_loss_law(others, prior);
    for (const LossPoint& point : without_size(points, size, true)) {
      const BoundedValue loss = predict_loss(law, size, point.tokens, point.batch_tokens, coverage);
      const double log_loss_error = std::log(loss.middle / point.loss);
      all.push_back({size, log_error_of_tokens(law, point), log_loss_error,
                     std::abs(log_loss_error) / std::log(loss.high / loss.middle)});
    }
  }
  return all;
}

}  // namespace

bool has_several_batches(const std::vector<LossPoint>& points) {
  std::set<double> batches;
  for (const LossPoint& point : points)
    if (point.batch_tokens > 0) batches.insert(point.batch_tokens);
  return batches.size() > 1;
}

LossVector prior_deviations() {
  LossVector deviations;
  deviations << 0.15, 0.4, 0.5, 0.03, 0.03, 0.5, 0.1;
  return deviations;
}

LossLaw fit_loss_law(const std::vector<LossPoint>& points, const LossLaw& prior_law) {
  if (points.size() < kFewestRuns)
    throw InputError("a law of the loss needs two runs or more; allowed: more rows, or --loss-law with a shipped law");
  const Prior prior = prior_about(prior_law, points);
  LossLaw law = prior_law;
  law.degrees = kDegrees;
  // The scale starts wide and then narrows, so that runs that went wrong do not dominate the first steps.
  double spread = 0.05, damping = 1e-3;
  for (int step = 0; step < kMostSteps; ++step) {
    const bool is_better = improve(law, points, prior, spread, damping);
    const double next = spread_of(law, points, prior, spread, prior_law.spread);
    const bool is_same = std::abs(next - spread) < 1e-10 * spread;
    spread = next;
    if (!is_better && is_same) break;
  }
  law.spread = spread;
  const Curvature c = curvature_at(law, points, prior, spread);
  law.covariance = c.matrix.ldlt().solve(LossMatrix::Identity()) * design_effect(law, points);
  for (int i = 0; i < kLossParameters; ++i)
    if (prior.is_free[i] == 0) law.covariance.row(i).setZero(), law.covariance.col(i).setZero();
  law.parameter_range = range_of(points, &LossPoint::parameters);
  law.token_range = range_of(points, &LossPoint::tokens);
  law.batch_range = range_of(points, &LossPoint::batch_tokens);
  law.kind = "fitted";
  return law;
}

std::vector<LeftOutSize> leave_out_sizes(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage,
                                         double widening) {
  std::vector<LeftOutSize> sizes;
  for (const LeftOut& one : leave_out(points, prior, coverage)) {  // in order of size
    if (sizes.empty() || sizes.back().parameters != one.parameters) sizes.push_back({one.parameters, 0, {}, {}});
    sizes.back().inside += one.reach <= widening ? 1 : 0;
    sizes.back().log_errors.push_back(one.log_error);
    sizes.back().log_loss_errors.push_back(one.log_loss_error);
  }
  return sizes;
}

LossLaw fit_calibrated_law(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage) {
  LossLaw law = fit_loss_law(points, prior);
  const std::vector<LeftOut> left = leave_out(points, prior, coverage);
  std::set<double> sizes;
  std::vector<double> reaches;  // errors of ln L over the interval's half width
  for (const LeftOut& one : left) {
    sizes.insert(one.parameters);
    reaches.push_back(one.reach);
  }
  if (sizes.size() < kFewestSizes) return law;
  const double factor = std::max(1.0, quantile(reaches, coverage));
  law.spread *= factor;
  law.covariance *= factor * factor;
  return law;
}

std::vector<CriticalBatchCheck> check_critical_batches(const std::vector<LossPoint>& points, const LossLaw& prior) {
  std::map<std::pair<double, double>, std::vector<LossPoint>> pairs;
  for (const LossPoint& point : points)
    if (point.batch_tokens > 0) pairs[{point.parameters, point.tokens}].push_back(point);
  std::vector<CriticalBatchCheck> checks;
  for (const auto& [pair, runs] : pairs) {
    if (runs.size() < 4) continue;
    const std::vector<LossPoint> other_sizes = without_size(points, pair.first, false);
    if (other_sizes.size() < kFewestRuns) continue;
    const LossLaw others = fit_loss_law(other_sizes, prior);
    // Fits the pair's own level of loss and critical batch: least squares, by a search over the critical batch.
    CriticalBatchCheck check{pair.first, pair.second, 0, 0};
    const double term =
        std::exp(others.parameters[kLogB] - others.parameters[kBeta] * std::log(pair.second / kReferenceTokens));
    double best = 1e300;
    for (double log_batch = std::log(1e4); log_batch < std::log(1e9); log_batch += 0.005) {
      std::vector<double> levels;
      for (const LossPoint& run : runs)
        levels.push_back(run.loss -
                         term * std::pow(1 + run.batch_tokens / std::exp(log_batch), others.parameters[kBeta]));
      const double level = mean(levels);
      double sum = 0;
      for (const double each : levels) sum += (each - level) * (each - level);
      if (sum < best) best = sum, check.measured = std::exp(log_batch);
    }
    check.predicted = critical_batch(others, minimal_tokens(others, pair.second, runs.front().batch_tokens));
    checks.push_back(check);
  }
  return checks;
}

}  // namespace lockstep::sim::loss
