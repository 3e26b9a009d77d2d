#pragma once
// Corrects NCCL's cost model (nccl.hpp) by operations that were measured over several nodes, so that it predicts more
// nodes than were measured. For an operation i, with the algorithm and protocol that the model chooses:
//
//   `t_i = L_i + e + p_i x + S_i / (f B_i)`
//
// * L_i and B_i are the latency and bandwidth of the model.
// * p_i is the number of sequential passes over the network (NcclTime::network_passes): 2 (N - 1) in a ring all-reduce
//   over N nodes, 2 log2 N in a tree.
// * Every operation takes e longer, and every pass x.
// * The machine reaches the share f of the model's bandwidth between nodes.
// The fit is by least squares of the relative error.
//
// If operations were measured on one node, e comes from them. Otherwise e is fitted as well if the operations differ in
// p_i. If they do not (two nodes only), e and x cannot be told apart. Then e is 0, and all of the excess grows with
// nodes.
#include <optional>
#include <vector>

#include "sim/collective/nccl.hpp"

namespace lockstep::sim::collective {

/// Operations that were measured on one system of several nodes.
struct NcclCurve {
  NcclSystem system;
  std::vector<MeasuredNcclOperation> calls;
};

struct NcclNetworkCorrection {
  double latency_excess_s = 0;  ///< e
  double pass_excess_s = 0;     ///< x; may be negative, like e
  double bandwidth_factor = 1;  ///< f
};

/// Throws std::invalid_argument if the operations do not determine the unknowns (fewer than two sizes), or if the
/// bandwidth would not be above 0.
NcclNetworkCorrection fit_nccl_network(const std::vector<NcclCurve>& curves, NcclOperation operation,
                                       std::optional<double> latency_excess_s = std::nullopt);

/// Returns the system with this correction in place of its own.
NcclSystem corrected(NcclSystem system, const NcclNetworkCorrection& correction);

/// Holds |relative error| of the fit's predictions, over all operations.
struct NcclFitErrors {
  int calls = 0;
  double median_residual = 0;
  double worst_residual = 0;
  double leave_one_out = 0;  ///< median over the operations, each predicted by a fit without it; 0 below 4 operations
  double worst_left_out = 0;
  /// Error of extrapolation: median over the operations on the most nodes, predicted by a fit to those on fewer nodes.
  /// None if all operations are on one number of nodes.
  std::optional<double> most_nodes_left_out;
};
NcclFitErrors nccl_fit_errors(const std::vector<NcclCurve>& curves, NcclOperation operation,
                              std::optional<double> latency_excess_s = std::nullopt);

}  // namespace lockstep::sim::collective
