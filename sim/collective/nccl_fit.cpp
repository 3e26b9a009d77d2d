#include "sim/collective/nccl_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/statistics.hpp"

namespace lockstep::sim::collective {
namespace {

// A measured operation and the model's terms for it.
struct Equation {
  double seconds;
  double latency_s;   // L
  double passes;      // p
  double transfer_s;  // S / B
};

std::vector<Equation> equations_of(const std::vector<NcclCurve>& curves, NcclOperation operation) {
  std::vector<Equation> equations;
  for (const NcclCurve& curve : curves) {
    const NcclSystem tables = corrected(curve.system, {});
    for (const MeasuredNcclOperation& call : curve.calls) {
      const NcclTime chosen = nccl_choice(tables, operation, static_cast<std::int64_t>(call.bytes));
      equations.push_back(
          {call.seconds, chosen.latency_s, double(chosen.network_passes), call.bytes / chosen.bandwidth_bytes_per_s});
    }
  }
  return equations;
}

bool differ_in_passes(const std::vector<Equation>& equations) {
  return std::any_of(equations.begin(), equations.end(),
                     [&](const Equation& one) { return one.passes != equations.front().passes; });
}

// Solves for x, 1 / f and, if it is not given, e, in this order.
NcclNetworkCorrection solve(const std::vector<Equation>& equations, std::optional<double> latency_excess_s) {
  const bool fits_excess = !latency_excess_s && differ_in_passes(equations);
  const double given_excess_s = latency_excess_s.value_or(0);
  const auto rows = static_cast<Eigen::Index>(equations.size());
  Eigen::MatrixXd a(rows, fits_excess ? 3 : 2);
  Eigen::VectorXd t(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Equation& one = equations[static_cast<std::size_t>(i)];
    a(i, 0) = one.passes * 1e-6 / one.seconds;  // in microseconds, so that columns are of similar size
    a(i, 1) = one.transfer_s / one.seconds;
    if (fits_excess) a(i, 2) = 1e-6 / one.seconds;
    t(i) = 1 - (one.latency_s + given_excess_s) / one.seconds;
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(a);
  qr.setThreshold(1e-6);
  if (rows < a.cols() || qr.rank() < a.cols())
    throw std::invalid_argument("measured calls over several nodes do not tell latency and bandwidth apart");
  const Eigen::VectorXd solution = qr.solve(t);
  if (!(solution[1] > 0))
    throw std::invalid_argument("measured calls over several nodes do not take longer with more bytes");
  return {fits_excess ? solution[2] * 1e-6 : given_excess_s, solution[0] * 1e-6, 1 / solution[1]};
}

double seconds_by(const NcclNetworkCorrection& correction, const Equation& call) {
  const double latency_s = call.latency_s + correction.latency_excess_s + call.passes * correction.pass_excess_s;
  return std::max(0.0, latency_s) + call.transfer_s / correction.bandwidth_factor;
}

double error_by(const NcclNetworkCorrection& correction, const Equation& call) {
  return std::abs(seconds_by(correction, call) / call.seconds - 1);
}

std::vector<double> errors_by(const NcclNetworkCorrection& correction, const std::vector<Equation>& calls) {
  std::vector<double> errors;
  for (const Equation& call : calls) errors.push_back(error_by(correction, call));
  return errors;
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::optional<double> most_nodes_left_out(const std::vector<NcclCurve>& curves, NcclOperation operation,
                                          std::optional<double> latency_excess_s) {
  int most = 0;
  for (const NcclCurve& curve : curves) most = std::max(most, curve.system.nodes);
  std::vector<NcclCurve> of_most, of_fewer;
  for (const NcclCurve& curve : curves) (curve.system.nodes == most ? of_most : of_fewer).push_back(curve);
  if (of_fewer.empty()) return std::nullopt;
  try {
    return median(errors_by(fit_nccl_network(of_fewer, operation, latency_excess_s), equations_of(of_most, operation)));
  } catch (const std::invalid_argument&) {  // too few operations without those on the most nodes
    return std::nullopt;
  }
}

}  // namespace

NcclSystem corrected(NcclSystem system, const NcclNetworkCorrection& correction) {
  system.latency_excess_s = correction.latency_excess_s;
  system.pass_excess_s = correction.pass_excess_s;
  system.bandwidth_factor = correction.bandwidth_factor;
  return system;
}

NcclNetworkCorrection fit_nccl_network(const std::vector<NcclCurve>& curves, NcclOperation operation,
                                       std::optional<double> latency_excess_s) {
  return solve(equations_of(curves, operation), latency_excess_s);
}

NcclFitErrors nccl_fit_errors(const std::vector<NcclCurve>& curves, NcclOperation operation,
                              std::optional<double> latency_excess_s) {
  const std::vector<Equation> all = equations_of(curves, operation);
  const std::vector<double> residuals = errors_by(solve(all, latency_excess_s), all);
  NcclFitErrors errors;
  errors.calls = static_cast<int>(all.size());
  errors.median_residual = median(residuals);
  errors.worst_residual = largest(residuals);
  errors.most_nodes_left_out = most_nodes_left_out(curves, operation, latency_excess_s);
  if (all.size() < 4) return errors;
  std::vector<double> left_out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Equation> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    left_out.push_back(error_by(solve(others, latency_excess_s), all[i]));
  }
  errors.leave_one_out = median(left_out);
  errors.worst_left_out = largest(left_out);
  return errors;
}

}  // namespace lockstep::sim::collective
