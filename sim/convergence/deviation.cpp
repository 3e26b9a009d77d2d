#include "sim/convergence/deviation.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

namespace lockstep::sim::convergence {
namespace {

constexpr double kShared = 0.7;  // of the variance between cells; the rest is not shared: a cell's learning rate
constexpr double kReach = 2;     // in ln x: at this distance the shared part falls to 1/e

double shared(double a, double b, bool from_zero) {
  const double distance = from_zero ? std::log1p(a) - std::log1p(b) : std::log(a) - std::log(b);
  return kShared * std::exp(-std::abs(distance) / kReach);
}

}  // namespace

double expected_deviation(const Deviations& deviations, double x, bool from_zero) {
  if (deviations.cells.empty() || deviations.between <= 0) return 0;
  const auto count = static_cast<Eigen::Index>(deviations.cells.size());
  Eigen::MatrixXd covariance(count, count);
  Eigen::VectorXd seen(count), to_x(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const CellDeviation& a = deviations.cells[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < count; ++j)
      covariance(i, j) =
          deviations.between * (i == j ? 1 : shared(a.x, deviations.cells[static_cast<std::size_t>(j)].x, from_zero));
    covariance(i, i) += deviations.within / a.runs;
    seen(i) = a.log_deviation;
    to_x(i) = deviations.between * (a.x == x ? 1 : shared(a.x, x, from_zero));
  }
  return to_x.dot(covariance.llt().solve(seen));
}

}  // namespace lockstep::sim::convergence
