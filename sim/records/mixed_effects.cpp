#include "sim/records/mixed_effects.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kHuber = 1.5;  // of the noise: what lies beyond counts by its distance, not by its square
constexpr int kRounds = 8;      // of the weights, which settle in a few

using Matrix = std::vector<std::vector<double>>;  // lower half

// A = L L^T, in place.
void factorise(Matrix& a) {
  const std::size_t n = a.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(a[j][j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
}

std::vector<double> forward(const Matrix& l, std::vector<double> b, std::size_t from = 0) {
  for (std::size_t i = from; i < b.size(); ++i) {
    for (std::size_t k = from; k < i; ++k) b[i] -= l[i][k] * b[k];
    b[i] /= l[i][i];
  }
  return b;
}

std::vector<double> from_factors(const Matrix& l, const std::vector<double>& right) {
  std::vector<double> b = forward(l, right);
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= l[k][i] * b[k];
    b[i] /= l[i][i];
  }
  return b;
}

// 1 within 1.5 of its spread, then by the distance.
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
  Effects effects{std::vector<double>(n, 0), std::vector<double>(n, 0)};
  Matrix matrix;
  for (int round = 0; round < kRounds; ++round) {
    matrix.assign(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
      const double s = spreads[k].s;
      matrix[k][k] = (spreads[k].is_common ? huber(effects.values[k], s) : 1) / (s * s);
    }
    for (const Observation& one : observations) {
      const double own = noise * one.noise_factor;
      const double weight = (round == 0 ? 1 : huber(rest_of(one, effects.values), own)) / (own * own);
      for (const auto& [row, of_row] : one.terms) {
        right[row] += weight * of_row * one.residual;
        for (const auto& [column, of_column] : one.terms)
          if (column <= row) matrix[row][column] += weight * of_row * of_column;
      }
    }
    factorise(matrix);
    effects.values = from_factors(matrix, right);
  }
  // The inverse's diagonal: squares of the columns of L^-1.
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> unit(n, 0);
    unit[k] = 1;
    double sum = 0;
    for (const double x : forward(matrix, unit, k)) sum += x * x;
    effects.deviations[k] = std::sqrt(sum);
  }
  return effects;
}

}  // namespace records
}  // namespace lockstep::sim
