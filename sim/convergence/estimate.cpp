#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/student_t.hpp"
#include "engine/base/text.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {
namespace {

struct Variable {
  std::string name;
  double x;
};

Variable main_variable(const TrainingSetting& s) {
  if (s.algorithm == Algorithm::sma || s.algorithm == Algorithm::ea_sgd) return {"learners", s.workers};
  if (s.algorithm == Algorithm::async_sgd) return {"staleness", s.staleness};
  return {"batch", s.images()};
}

std::string unit_of(const std::string& variable) {
  if (variable == "batch") return "images an update";
  if (variable == "learners") return "learners";
  return variable == "tau" ? "iterations per synchronisation" : "updates of staleness";
}

std::string learners_text(double learners, double batch) {
  return short_number(learners) + " learners of " + short_number(batch) + " images";
}

std::string range_text(const ConvergenceFit& fit) {
  return short_number(fit.from_x) + " to " + short_number(fit.to_x) + " " + unit_of(fit.variable);
}

bool is_beyond(const ConvergenceFit& fit, double x, double factor) {
  // If runs start at 0 (staleness), no x is below them.
  return x > factor * fit.to_x * (1 + 1e-9) || x < fit.from_x / factor * (1 - 1e-9);
}

IterationsBound from_table(const ConvergenceFit& fit, double x, double coverage) {
  const auto& table = fit.table;
  double middle = std::log(table[0].second);
  if (table.size() > 1) {
    std::size_t next = 1;
    while (next + 1 < table.size() && x > table[next].first) ++next;
    const auto &a = table[next - 1], &b = table[next];
    middle += std::log(a.second / table[0].second) +
              std::log(b.second / a.second) * std::log(x / a.first) / std::log(b.first / a.first);
  }
  const double reach = student_t_quantile(0.5 + 0.5 * coverage, fit.law.degrees) * fit.law.spread;
  return {std::exp(middle), std::exp(middle - reach), std::exp(middle + reach)};
}

IterationsBound value_of(const ConvergenceFit& fit, double x, double coverage) {
  return fit.table.empty() ? predict(fit.law, x, coverage) : from_table(fit, x, coverage);
}

/// Multiplies the iterations for tau = 1 by the tau law's ratio between `tau` and 1. Relative bounds add in quadrature.
void apply_tau(const ConvergenceFit& fit, double tau, double coverage, IterationsBound& bound) {
  const Law& law = fit.law;
  const double change = law.expected_log_iterations(tau) - law.expected_log_iterations(1);
  const Eigen::Vector2d g = law.gradient(tau) - law.gradient(1);
  const double reach =
      student_t_quantile(0.5 + 0.5 * coverage, law.degrees) * std::sqrt(std::max(0.0, g.dot(law.covariance * g)));
  const double low = std::hypot(std::log(bound.iterations / bound.low), reach);
  const double high = std::hypot(std::log(bound.high / bound.iterations), reach);
  bound.iterations *= std::exp(change);
  bound.low = bound.iterations * std::exp(-low);
  bound.high = bound.iterations * std::exp(high);
}

std::optional<std::string> out_of_reach(const ConvergenceFit& fit, double x) {
  if (fit.table.size() == 1 && is_beyond(fit, x, 1))
    return "all of its runs are at " + short_number(fit.from_x) + " " + unit_of(fit.variable) +
           ", which say nothing of " + short_number(x) + "; allowed: " + short_number(fit.from_x);
  if (!is_beyond(fit, x, kFarthest)) return std::nullopt;
  return short_number(x) + " " + unit_of(fit.variable) + " are more than " + short_number(kFarthest) +
         " times beyond the runs; allowed: " + range_text(fit) + ", or up to " + short_number(kFarthest) +
         " times beyond as an extrapolation";
}

}  // namespace

std::optional<std::size_t> ConvergenceProfile::target_named(const std::string& wanted) const {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].name == wanted) return i;
  return std::nullopt;
}

std::optional<std::size_t> ConvergenceProfile::target_of(double accuracy) const {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (std::abs(targets[i].accuracy - accuracy) < 1e-9) return i;
  return std::nullopt;
}

const ConvergenceFit* ConvergenceProfile::fit(Algorithm algorithm, const std::string& variable,
                                              std::size_t target) const {
  for (const ConvergenceFit& fit : fits)
    if (fit.algorithm == algorithm && fit.variable == variable && fit.target == target) return &fit;
  return nullptr;
}

std::optional<std::string> why_not_covered(const ConvergenceProfile& profile, std::size_t target,
                                           const TrainingSetting& s) {
  const Variable variable = main_variable(s);
  const Algorithm main = algorithm_of_main_law(s.algorithm);
  const ConvergenceFit* fit = profile.fit(main, variable.name, target);
  if (!fit) {
    std::vector<std::string> has;
    for (const ConvergenceFit& other : profile.fits)
      if (other.target == target && other.variable != "tau") has.push_back(name_of(other.algorithm));
    return "has no law of \"" + name_of(main) + "\" to " + profile.targets[target].name +
           (has.empty() ? "" : "; allowed: " + joined(has));
  }
  if (fit->batch && variable.name != "batch" && std::abs(*fit->batch - s.batch) > 1e-9)
    return "its runs of \"" + name_of(s.algorithm) + "\" had a batch of " + short_number(*fit->batch) +
           " per learner or worker, not " + short_number(s.batch);
  if (auto why = out_of_reach(*fit, variable.x)) return why;
  if (s.tau == 1) return std::nullopt;
  const ConvergenceFit* tau = profile.fit(s.algorithm, "tau", target);
  if (s.tau <= 0 || !tau) return "has no law of \"" + name_of(s.algorithm) + "\" for a tau of " + short_number(s.tau);
  return out_of_reach(*tau, s.tau);
}

IterationsEstimate estimate_iterations(const ConvergenceProfile& profile, std::size_t target,
                                       const TrainingSetting& s) {
  if (const auto why = why_not_covered(profile, target, s)) throw std::invalid_argument(profile.name + ": " + *why);
  const Variable variable = main_variable(s);
  const ConvergenceFit& fit = *profile.fit(algorithm_of_main_law(s.algorithm), variable.name, target);
  IterationsEstimate estimate{value_of(fit, variable.x, profile.coverage), {}};
  const auto note = [&](const ConvergenceFit& of, double x) {
    if (is_beyond(of, x, 1))
      estimate.notes.push_back("Iterations to " + profile.targets[target].name +
                               " are extrapolated: " + short_number(x) + " " + unit_of(of.variable) +
                               ", and the runs of " + profile.name + " had " + range_text(of) + ".");
  };
  note(fit, variable.x);
  if (s.tau == 1) return estimate;
  const ConvergenceFit& tau = *profile.fit(s.algorithm, "tau", target);
  apply_tau(tau, s.tau, profile.coverage, estimate.bound);
  note(tau, s.tau);
  if (tau.learners && tau.batch &&
      (std::abs(*tau.learners - s.workers) > 1e-9 || std::abs(*tau.batch - s.batch) > 1e-9))
    estimate.notes.push_back("The effect of tau on iterations to " + profile.targets[target].name +
                             " was measured with " + learners_text(*tau.learners, *tau.batch) + ", not " +
                             learners_text(s.workers, s.batch) + ".");
  return estimate;
}

}  // namespace lockstep::sim::convergence
