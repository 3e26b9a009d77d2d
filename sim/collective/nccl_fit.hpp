#pragma once
// NCCL's calls over several nodes as measured: what its cost model (nccl.hpp) lacks between nodes, so that calls over
// more nodes than were measured follow. For a call i whose algorithm and protocol the model chooses,
//
//   t_i = L_i + e + p_i x + S_i / (f B_i)
//
// L_i, B_i: latency and bandwidth of the model; p_i: how often one after the other data pass the network, 2 (N - 1)
// times in a ring all-reduce over N nodes, 2 log2 N times in a tree (NcclTime::network_passes); e: what every call
// takes more, x: what every pass takes more; f: share of the model's bandwidth between nodes. By least squares of the
// relative error.
//
// e comes from calls on one node where there are any. Otherwise it is fitted, too, where the calls differ in p_i. Where
// they do not (two nodes alone), nothing tells e from x, and e is 0: all of it grows with the nodes.
#include <optional>
#include <vector>

#include "sim/collective/nccl.hpp"

namespace lockstep::sim::collective {

/// Calls on one system of several nodes.
struct NcclCurve {
  NcclSystem system;
  std::vector<NcclMeasured> calls;
};

struct NcclNetworkCorrection {
  double latency_excess_s = 0;  ///< e
  double pass_excess_s = 0;     ///< x; may be negative, as e
  double bandwidth_factor = 1;  ///< f
};

/// Throws std::invalid_argument where the calls do not determine the unknowns (fewer than two sizes), or where a
/// bandwidth above 0 does not follow.
NcclNetworkCorrection fit_nccl_network(const std::vector<NcclCurve>& curves, NcclOperation operation,
                                       std::optional<double> latency_excess_s = std::nullopt);

/// The system with the correction instead of its own.
NcclSystem corrected(NcclSystem system, const NcclNetworkCorrection& correction);

/// |relative error| of the fit's predictions.
struct NcclFitErrors {
  int calls = 0;
  double median_residual = 0;
  double worst_residual = 0;
  double leave_one_out = 0;  ///< median over the calls, each predicted by a fit without it; 0 below 4 calls
  double worst_left_out = 0;
  /// Median over the calls of the most nodes, predicted by a fit to those of fewer: what an extrapolation is worth.
  /// None where all calls are over one number of nodes.
  std::optional<double> most_nodes_left_out;
};
NcclFitErrors nccl_fit_errors(const std::vector<NcclCurve>& curves, NcclOperation operation,
                              std::optional<double> latency_excess_s = std::nullopt);

}  // namespace lockstep::sim::collective
