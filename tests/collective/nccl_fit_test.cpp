// Measured NCCL operations over several nodes: the fit finds planted constants, and predicts more nodes.
#include "sim/collective/nccl_fit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/collective/nccl_systems.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::hgx_hopper;
using lockstep::tests::two_by_two;

namespace {

constexpr NcclOperation kAllReduce = NcclOperation::all_reduce;

// Returns operations of 1 KiB to 4 GiB by the planted constants, with errors of `noise` (one standard deviation).
NcclCurve planted(int nodes, const NcclNetworkCorrection& truth, double noise = 0) {
  NcclCurve curve{hgx_hopper(nodes), {}};
  int i = 0;
  for (double bytes = 1024; bytes < 5e9; bytes *= 4, ++i) {
    const NcclTime time = nccl_choice(corrected(curve.system, truth), kAllReduce, static_cast<std::int64_t>(bytes));
    const double factor =
        1 + noise * random_normal(7, static_cast<std::uint64_t>(nodes), static_cast<std::uint64_t>(i));
    curve.calls.push_back({bytes, time.seconds * factor});
  }
  return curve;
}

double seconds_over(int nodes, const NcclNetworkCorrection& correction, double bytes) {
  return nccl_choice(corrected(hgx_hopper(nodes), correction), kAllReduce, static_cast<std::int64_t>(bytes)).seconds;
}

}  // namespace

TEST_CASE("nccl fit: passes of the network, one after the other") {
  const auto passes = [](const NcclSystem& system, NcclAlgorithm algorithm, NcclOperation operation = kAllReduce) {
    for (const NcclTime& time : nccl_times(system, operation, 1 << 20))
      if (time.algorithm == algorithm) return time.network_passes;
    return -1;
  };
  CHECK(passes(two_by_two(), NcclAlgorithm::ring) == 2);
  CHECK(passes(hgx_hopper(8), NcclAlgorithm::ring) == 14);
  CHECK(passes(hgx_hopper(8), NcclAlgorithm::tree) == 6);
  CHECK(passes(hgx_hopper(8), NcclAlgorithm::nvls_tree) == 6);
  CHECK(passes(hgx_hopper(8), NcclAlgorithm::ring, NcclOperation::all_gather) == 7);
  CHECK(passes(hgx_hopper(1), NcclAlgorithm::ring) == 0);
  CHECK(passes(hgx_hopper(1), NcclAlgorithm::nvls) == 0);
}

TEST_CASE("nccl fit: a corrected call worked by hand") {
  // The 8 MB Simple ring of nccl_test.cpp takes 70 us and 600 us by the tables. With 10 us more per operation, 5 us
  // more for each of two passes, and 80 % of the bandwidth: 70 + 10 + 2 x 5 + 600 / 0.8 = 840 us.
  NcclSystem system = corrected(two_by_two(), {10e-6, 5e-6, 0.8});
  system.only_protocol = NcclProtocol::simple;
  CHECK(nccl_choice(system, kAllReduce, 8'000'000).seconds * 1e6 == Approx(840).epsilon(1e-6));
}

TEST_CASE("nccl fit: planted constants come out within 1 %, and calls over more nodes follow") {
  const NcclNetworkCorrection truth{12e-6, 9e-6, 0.85};
  const std::vector<NcclCurve> curves{planted(2, truth, 1e-3), planted(4, truth, 1e-3), planted(8, truth, 1e-3)};
  for (const std::optional<double> given : {std::optional<double>(), std::optional<double>(12e-6)}) {
    const NcclNetworkCorrection fit = fit_nccl_network(curves, kAllReduce, given);
    CHECK(fit.latency_excess_s == Approx(truth.latency_excess_s).epsilon(0.01));
    CHECK(fit.pass_excess_s == Approx(truth.pass_excess_s).epsilon(0.01));
    CHECK(fit.bandwidth_factor == Approx(truth.bandwidth_factor).epsilon(0.01));
    for (double bytes : {4096.0, 1e6, 1e8, 4e9})
      CHECK(seconds_over(64, fit, bytes) == Approx(seconds_over(64, truth, bytes)).epsilon(0.01));
  }
}

TEST_CASE("nccl fit: of two nodes alone all excess counts by pass") {
  const NcclNetworkCorrection truth{12e-6, 9e-6, 0.85};
  const std::vector<NcclCurve> curves{planted(2, truth)};
  // An excess of 12 us per operation is fitted as 6 us for each of its two passes.
  const NcclNetworkCorrection fit = fit_nccl_network(curves, kAllReduce);
  CHECK(fit.latency_excess_s == 0);
  CHECK(fit.pass_excess_s == Approx(15e-6).epsilon(1e-6));
  CHECK(seconds_over(2, fit, 1e6) == Approx(seconds_over(2, truth, 1e6)).epsilon(1e-6));
  CHECK_FALSE(nccl_fit_errors(curves, kAllReduce).most_nodes_left_out);
  // Operations on one node determine the excess of every operation.
  const NcclNetworkCorrection with_node = fit_nccl_network(curves, kAllReduce, 12e-6);
  CHECK(with_node.pass_excess_s == Approx(9e-6).epsilon(1e-6));
  CHECK(seconds_over(32, with_node, 1e6) == Approx(seconds_over(32, truth, 1e6)).epsilon(1e-6));
}

TEST_CASE("nccl fit: errors say what a fit is worth") {
  const NcclNetworkCorrection truth{12e-6, 9e-6, 0.85};
  const NcclFitErrors exact = nccl_fit_errors({planted(2, truth), planted(4, truth), planted(8, truth)}, kAllReduce);
  CHECK(exact.calls == 36);
  CHECK(exact.worst_residual < 1e-6);
  CHECK(exact.worst_left_out < 1e-6);
  REQUIRE(exact.most_nodes_left_out);
  CHECK(*exact.most_nodes_left_out < 1e-6);
  // Eight nodes have a network half as fast as that of the others. No fit to the others predicts them.
  NcclCurve slow = planted(8, {12e-6, 30e-6, 0.4});
  const NcclFitErrors odd = nccl_fit_errors({planted(2, truth), planted(4, truth), slow}, kAllReduce);
  CHECK(*odd.most_nodes_left_out > 0.2);
  CHECK(odd.worst_left_out > 0.05);
  CHECK(odd.leave_one_out >= odd.median_residual * 0.9);
}

TEST_CASE("nccl fit: calls that determine nothing are refused") {
  NcclCurve one_size{hgx_hopper(2), {{1e6, 1e-3}, {1e6, 1.1e-3}}};
  CHECK_THROWS_AS(fit_nccl_network({one_size}, kAllReduce), std::invalid_argument);
  CHECK_THROWS_AS(fit_nccl_network({{hgx_hopper(2), {{1e6, 1e-3}}}}, kAllReduce), std::invalid_argument);
  CHECK_THROWS_AS(fit_nccl_network({{hgx_hopper(2), {{1e3, 1.0}, {1e9, 0.01}}}}, kAllReduce), std::invalid_argument);
}
