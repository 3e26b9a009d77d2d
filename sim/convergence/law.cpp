#include "sim/convergence/law.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/base/statistics.hpp"
#include "engine/base/student_t.hpp"
#include "sim/convergence/simplex.hpp"

namespace lockstep::sim::convergence {
namespace {

constexpr double kPriorDeviation = 3;  // standard deviation of a parameter's logarithm about the first guess
constexpr double kLeastSpread = 0.01;  // evaluations do not resolve smaller ones
constexpr double kLeastCells = 4;      // two more than a law has parameters, to estimate the spread

/// The factor by which the second parameter's exponential is multiplied.
double second_term(LawKind kind, double x) {
  return kind == LawKind::saturating ? 1 / x : x;
}

/// Returns log P(Z > z) for a standard normal Z, without underflow.
double log_survival(double z) {
  if (z < 8) return std::log(std::max(0.5 * std::erfc(z / std::sqrt(2.0)), 1e-300));
  return -0.5 * z * z - std::log(z * std::sqrt(2 * M_PI));
}

double negative_log_likelihood(const Law& law, double spread, const std::vector<LawObservation>& runs) {
  double sum = 0;
  for (const LawObservation& run : runs) {
    const double z = (std::log(run.iterations) - law.log_iterations(run.x)) / spread;
    sum += run.is_censored ? -log_survival(z) : 0.5 * z * z + std::log(spread);
  }
  return sum;
}

/// Fits straight lines: iterations over 1/x or x, weighted by their inverse square; for power laws, logarithms of both.
/// Censored runs count as if they had reached the target at their end.
Eigen::Vector2d first_guess(LawKind kind, const std::vector<LawObservation>& runs) {
  Eigen::Matrix2d normal = Eigen::Matrix2d::Zero();
  Eigen::Vector2d right = Eigen::Vector2d::Zero();
  const bool is_power = kind == LawKind::power;
  for (const LawObservation& run : runs) {
    const double u = is_power ? std::log(run.x) : second_term(kind, run.x);
    const double y = is_power ? std::log(run.iterations) : run.iterations;
    const Eigen::Vector2d row = Eigen::Vector2d(1, u) / (is_power ? 1 : run.iterations);
    normal += row * row.transpose();
    right += row * (is_power ? y : 1);
  }
  const Eigen::Vector2d line = normal.inverse() * right;
  if (is_power) return line;
  std::vector<double> iterations, terms;
  for (const LawObservation& run : runs) {
    iterations.push_back(run.iterations);
    if (run.x > 0) terms.push_back(second_term(kind, run.x));  // at x = 0 there is no second term
  }
  // If the runs do not show a term, it starts at a hundredth of their iterations.
  const double small = 0.01 * median(iterations), per_term = median(terms);
  return {std::log(std::max(line(0), small)), std::log(std::max(line(1), small / per_term))};
}

void check(const std::vector<LawObservation>& runs) {
  std::set<double> values;
  int reached = 0;
  for (const LawObservation& run : runs) {
    if (!(run.iterations > 0) || !std::isfinite(run.iterations) || !std::isfinite(run.x) || run.x < 0)
      throw std::invalid_argument("a run without iterations");
    if (run.is_censored) continue;
    ++reached;
    values.insert(run.x);
  }
  if (values.size() < 2 || reached < 3)
    throw std::invalid_argument("fewer than three runs reached it, or all at one value");
}

/// The scatter of runs about the law.
struct Scatter {
  double variance;          ///< of a run in a cell that was not fitted
  double degrees;           ///< degrees of freedom of `variance`
  double of_the_law;        ///< variance per run of the law's own error
  Deviations deviations{};  ///< of the cells, if there are enough to estimate them
};

/// Runs at one x share the error of the law there, and of the learning rate that was found for them. So the variance
/// has a part between cells and a part within cells (one-way analysis of variance). Its degrees of freedom follow
/// Satterthwaite. Two cells do not show the law's error between them: one degree of freedom. A censored run counts if
/// it has already lasted longer than the law predicts.
Scatter scatter_about(const Law& law, const std::vector<LawObservation>& runs) {
  std::map<double, std::vector<double>> cells;
  for (const LawObservation& run : runs) {
    const double residual = std::log(run.iterations) - law.log_iterations(run.x);
    if (!run.is_censored || residual > 0) cells[run.x].push_back(residual);
  }
  double between = 0, within = 0, n = 0;
  for (const auto& [x, residuals] : cells) {
    const double count = static_cast<double>(residuals.size()), middle = mean(residuals);
    between += count * middle * middle;
    for (const double residual : residuals) within += (residual - middle) * (residual - middle);
    n += count;
  }
  const double k = static_cast<double>(cells.size());
  const double floor = kLeastSpread * kLeastSpread;
  const double pooled = std::max((between + within) / std::max(1.0, n - 2), floor);
  if (k <= 2) return {pooled, 1, pooled};
  between = std::max(between / (k - 2), floor);
  within = n > k ? within / (n - k) : 0;
  if (n > k && between <= within) return {pooled, n - 2, pooled};
  const double share = k / n;  // fraction of a run's variance in its cell's mean
  const double variance = share * between + (1 - share) * within;
  const double of_between = share * between * share * between / (k - 2);
  const double of_within = n > k ? (1 - share) * within * (1 - share) * within / (n - k) : 0;
  Scatter scatter{variance, variance * variance / (of_between + of_within), between};
  if (n > k && k >= kLeastCells) {
    scatter.deviations = {{}, share * (between - within), within};
    for (const auto& [x, residuals] : cells)
      scatter.deviations.cells.push_back({x, mean(residuals), static_cast<int>(residuals.size())});
  }
  return scatter;
}

}  // namespace

std::string to_string(LawKind kind) {
  if (kind == LawKind::power) return "power";
  return kind == LawKind::linear ? "linear" : "saturating";
}

double Law::log_iterations(double x) const {
  if (kind == LawKind::power) return parameters(0) + parameters(1) * std::log(x);
  return std::log(std::exp(parameters(0)) + std::exp(parameters(1)) * second_term(kind, x));
}

double Law::expected_log_iterations(double x) const {
  return log_iterations(x) + expected_deviation(deviations, x, kind == LawKind::linear);
}

Eigen::Vector2d Law::gradient(double x) const {
  if (kind == LawKind::power) return {1, std::log(x)};
  const double first = std::exp(parameters(0)), second = std::exp(parameters(1)) * second_term(kind, x);
  return Eigen::Vector2d(first, second) / (first + second);
}

IterationsBound predict(const Law& law, double x, double coverage) {
  const Eigen::Vector2d g = law.gradient(x);
  const double variance = law.spread * law.spread + std::max(0.0, g.dot(law.covariance * g));
  const double reach = student_t_quantile(0.5 + 0.5 * coverage, law.degrees) * std::sqrt(variance);
  const double middle = law.expected_log_iterations(x);
  return {std::exp(middle), std::exp(middle - reach), std::exp(middle + reach)};
}

Law fit_law(LawKind kind, const std::vector<LawObservation>& runs) {
  check(runs);
  const Eigen::Vector2d guess = first_guess(kind, runs);
  const auto cost = [&](const Eigen::VectorXd& at) {
    Law law;
    law.kind = kind;
    law.parameters = at.head<2>();
    const double spread = kLeastSpread + std::exp(at(2));
    return negative_log_likelihood(law, spread, runs) +
           0.5 * (law.parameters - guess).squaredNorm() / (kPriorDeviation * kPriorDeviation);
  };
  Eigen::VectorXd best = minimise(cost, (Eigen::VectorXd(3) << guess, std::log(0.2)).finished(), 0.5);
  best = minimise(cost, best, 0.1);  // restart, because a simplex may have collapsed
  // Curvature of the cost at the minimum, by central differences.
  constexpr double h = 1e-3;
  Eigen::Matrix2d curvature;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto moved = [&](double di, double dj) {
        Eigen::VectorXd at = best;
        at(i) += di * h;
        at(j) += dj * h;
        return cost(at);
      };
      curvature(i, j) = (moved(1, 1) - moved(1, -1) - moved(-1, 1) + moved(-1, -1)) / (4 * h * h);
    }
  }
  Law law;
  law.kind = kind;
  law.parameters = best.head<2>();
  const Scatter scatter = scatter_about(law, runs);
  const double assumed = std::pow(kLeastSpread + std::exp(best(2)), 2);  // by the curvature
  law.spread = std::sqrt(scatter.variance);
  law.degrees = scatter.degrees;
  law.deviations = scatter.deviations;
  law.covariance = curvature.inverse() * std::max(1.0, scatter.of_the_law / assumed);
  return law;
}

}  // namespace lockstep::sim::convergence
