#include "sim/cost/delay.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <unsupported/Eigen/SpecialFunctions>

#include "engine/base/bisect.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"

namespace lockstep::sim::cost {
namespace {

constexpr std::uint64_t kStream = 0xDE1A;  // worker w draws from the random stream kStream + w
constexpr double kNoTail = 1e3;            // a tail index so high that the tail is negligible

double tailed_log_quantile(const DelaySpec& d, double p) {
  const double body = std::min(p, 1 - d.tail_probability);
  const double tail = p > body ? std::log(d.tail_probability / (1 - p)) / d.tail_index : 0;
  return std::log(d.scale) + d.shape * normal_quantile(body) + tail;
}

// Fits ln Q = theta . (1, z(min(p, 1 - tail)), max(0, ln(tail/(1 - p)))) by least squares, with sigma, 1/a >= 0.
// Coefficients that would be negative are left out: with two of them, all four cases are tried.
struct LinearFit {
  Eigen::Vector3d theta{0, 0, 0};
  double sum_of_squares = 1e300;
};

LinearFit fit_at(const std::vector<PercentileSpec>& percentiles, double tail) {
  const auto rows = static_cast<Eigen::Index>(percentiles.size());
  Eigen::MatrixXd features(rows, 3);
  Eigen::VectorXd logs(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const PercentileSpec& point = percentiles[static_cast<std::size_t>(i)];
    features.row(i) << 1, normal_quantile(std::min(point.at, 1 - tail)), std::max(0.0, std::log(tail / (1 - point.at)));
    logs(i) = std::log(point.value);
  }
  LinearFit best;
  for (const std::vector<Eigen::Index>& used : {std::vector<Eigen::Index>{0, 1, 2}, {0, 1}, {0, 2}, {0}}) {
    Eigen::MatrixXd columns(rows, static_cast<Eigen::Index>(used.size()));
    for (std::size_t c = 0; c < used.size(); ++c) columns.col(static_cast<Eigen::Index>(c)) = features.col(used[c]);
    const Eigen::VectorXd solution = columns.completeOrthogonalDecomposition().solve(logs);
    LinearFit fit;
    for (std::size_t c = 0; c < used.size(); ++c) fit.theta(used[c]) = solution(static_cast<Eigen::Index>(c));
    fit.sum_of_squares = (features * fit.theta - logs).squaredNorm();
    if (fit.theta(1) >= 0 && fit.theta(2) >= 0 && fit.sum_of_squares < best.sum_of_squares) best = fit;
  }
  return best;
}

}  // namespace

double gamma_quantile(double shape, double p) {
  double high = shape + 1;
  while (Eigen::numext::igamma(shape, high) < p) high *= 2;
  return bisect(0, high, [&](double x) { return Eigen::numext::igamma(shape, x) < p; });
}

TailFit fit_tail(const std::vector<PercentileSpec>& percentiles) {
  LinearFit best;
  double best_tail = 0.5;
  // Tries tails from the longest to the shortest, so that the longest of equally good fits wins: the tail is the reason
  // for giving percentiles.
  for (int step = 0; step <= 400; ++step) {
    const double tail = 0.5 * std::pow(1e-6, step / 400.0);
    const LinearFit fit = fit_at(percentiles, tail);
    if (fit.sum_of_squares < best.sum_of_squares * (1 - 1e-9) - 1e-24) {
      best = fit;
      best_tail = tail;
    }
  }
  const double index = best.theta(2) > 1 / kNoTail ? 1 / best.theta(2) : kNoTail;
  return {std::exp(best.theta(0)), best.theta(1), best_tail, index,
          std::sqrt(best.sum_of_squares / static_cast<double>(percentiles.size()))};
}

Delay::Delay(const DelaySpec& spec) : spec_(spec) {
  std::sort(spec_.samples.begin(), spec_.samples.end());
  if (spec_.kind != DelaySpec::Kind::percentiles) return;
  const TailFit fit = fit_tail(spec_.percentiles);
  spec_.kind = DelaySpec::Kind::pareto_tail;
  spec_.scale = fit.median;
  spec_.shape = fit.sigma;
  spec_.tail_probability = fit.tail_probability;
  spec_.tail_index = fit.tail_index;
  fit_residual_ = fit.rms_residual;
}

double Delay::quantile(double p) const {
  switch (spec_.kind) {
    case DelaySpec::Kind::none:
      return 1;
    case DelaySpec::Kind::lognormal:
      return spec_.shift + spec_.scale * std::exp(spec_.shape * normal_quantile(p));
    case DelaySpec::Kind::gamma:
      return spec_.shift + spec_.scale * gamma_quantile(spec_.shape, p);
    case DelaySpec::Kind::pareto_tail:
    case DelaySpec::Kind::percentiles:
      return spec_.shift + std::exp(tailed_log_quantile(spec_, p));
    case DelaySpec::Kind::empirical:
      break;
  }
  const auto n = static_cast<double>(spec_.samples.size());
  return spec_.samples[std::min(spec_.samples.size() - 1, static_cast<std::size_t>(p * n))];
}

double Delay::draw(std::uint64_t seed, int worker, int step) const {
  if (spec_.kind == DelaySpec::Kind::none) return 1;
  return quantile(random_uniform(seed, kStream + static_cast<std::uint64_t>(worker), static_cast<std::uint64_t>(step)));
}

// E[X_(k)] is the integral of Q(u) f(u) du; f is the density of Beta(k, n - k + 1). The substitution u = 1 / (1 +
// exp(-t)), du = u (1 - u) dt, moves both ends far away and makes the integrand smooth, so equal steps suffice.
double Delay::expected_order_statistic(int k, int n) const {
  const double log_scale = std::lgamma(n + 1.0) - std::lgamma(double(k)) - std::lgamma(n - k + 1.0);
  const double step = 0.01;
  double integral = 0, weight = 0;
  for (int i = -4000; i <= 3400; ++i) {
    const double t = i * step;
    const double log_u = -std::log1p(std::exp(-t)), log_rest = -std::log1p(std::exp(t));
    const double density = std::exp(log_scale + k * log_u + (n - k + 1) * log_rest);
    const double u = std::exp(log_u);
    if (density < 1e-300 || u >= 1) continue;
    integral += quantile(u) * density;
    weight += density;
  }
  return integral / weight;
}

}  // namespace lockstep::sim::cost
