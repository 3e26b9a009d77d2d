#include "sim/validation/mixed_effects.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace lockstep::sim::validation {
namespace {

constexpr double kHuber = 1.5;    // times the noise; larger residuals count by their size, not by their square
constexpr int kEffectRounds = 8;  // rounds of the weights, which settle in a few

// Returns 1 up to 1.5 times the spread. For larger values, the weight falls in inverse proportion.
double huber(double value, double spread) {
  return std::min(1.0, kHuber * spread / std::max(std::abs(value), 1e-12));
}

double rest_of(const Observation& one, const std::vector<double>& values) {
  double rest = one.residual;
  for (const auto& [effect, share] : one.terms) rest -= share * values[effect];
  return rest;
}

}  // namespace

Effects solve_effects(const std::vector<Observation>& observations, const std::vector<Spread>& spreads, double noise) {
  const std::size_t n = spreads.size();
  const auto size = static_cast<Eigen::Index>(n);
  Effects effects{std::vector<double>(n, 0), std::vector<double>(n, 0)};
  Eigen::LLT<Eigen::MatrixXd> factors(size);
  for (int round = 0; round < kEffectRounds; ++round) {
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(size, size);  // only the lower half is filled
    Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
    for (std::size_t k = 0; k < n; ++k) {
      const double s = spreads[k].s;
      const auto place = static_cast<Eigen::Index>(k);
      matrix(place, place) = (spreads[k].is_common ? huber(effects.values[k], s) : 1) / (s * s);
    }
    for (const Observation& one : observations) {
      const double own = noise * one.noise_factor;
      const double weight = (round == 0 ? 1 : huber(rest_of(one, effects.values), own)) / (own * own);
      for (const auto& [row, of_row] : one.terms) {
        const auto place = static_cast<Eigen::Index>(row);
        right(place) += weight * of_row * one.residual;
        for (const auto& [column, of_column] : one.terms)
          if (column <= row) matrix(place, static_cast<Eigen::Index>(column)) += weight * of_row * of_column;
      }
    }
    factors.compute(matrix);
    Eigen::VectorXd::Map(effects.values.data(), size) = factors.solve(right);
  }
  Eigen::VectorXd::Map(effects.deviations.data(), size) =
      factors.solve(Eigen::MatrixXd::Identity(size, size)).diagonal().cwiseSqrt();
  return effects;
}

}  // namespace lockstep::sim::validation
