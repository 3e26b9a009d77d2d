#include "sim/point/ecmp_hashes.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/point/calibration.hpp"

namespace lockstep::sim::point {
namespace {

PointResult predict_hash(Scenario scenario, const PointRequest& request, int hash, const PredictPoint& predict) {
  scenario.cluster.fabric.hash = hash;
  return predict(scenario, request);
}

double by_d_mod_k_s(Scenario scenario, const PointRequest& request, const PredictPoint& predict) {
  scenario.cluster.fabric.routing = Routing::d_mod_k;
  return predict(scenario, request).mean_iteration_s();
}

// Combines a bound of one standard deviation with an end of an 80 % interval.
double combine_in_quadrature(double bound, double end_of_80_percent) {
  return std::hypot(std::log(bound), std::log(end_of_80_percent) / reach_of_80_percent());
}

}  // namespace

bool has_several_hashes(const Scenario& scenario, int gpus) {
  const FabricSpec& fabric = scenario.cluster.fabric;
  return fabric.kind == FabricKind::fat_tree && fabric.routing == Routing::ecmp && fabric.hash == 0 &&
         gpus > scenario.cluster.gpus_per_node;
}

PointResult predict_median_hash(const Scenario& scenario, const PointRequest& request, const PredictPoint& predict) {
  if (request.fidelity == Fidelity::message)
    throw InputError(scenario.name +
                     ": /cluster/fabric/hash: fidelity message predicts one hash function of ecmp; "
                     "allowed: its number, such as 1; or fidelity fast");
  PointRequest plain = request;
  plain.trace = {};
  std::vector<double> times_s;
  for (int hash = 1; hash <= scenario.cluster.fabric.hashes; ++hash)
    times_s.push_back(predict_hash(scenario, plain, hash, predict).mean_iteration_s());
  std::vector<double> sorted_s = times_s;
  std::sort(sorted_s.begin(), sorted_s.end());
  const double median_s = sorted_s[sorted_s.size() / 2];
  const auto chosen = std::find(times_s.begin(), times_s.end(), median_s);
  PointResult point = predict_hash(scenario, request, static_cast<int>(chosen - times_s.begin()) + 1, predict);
  const double low_s = quantile(sorted_s, 0.1), high_s = quantile(sorted_s, 0.9);
  point.interval.low = std::exp(-combine_in_quadrature(point.interval.low, std::min(1.0, low_s / median_s)));
  point.interval.high = std::exp(combine_in_quadrature(point.interval.high, std::max(1.0, high_s / median_s)));
  point.notes.push_back("ECMP: median of " + std::to_string(times_s.size()) +
                        " hash functions; of their iteration times "
                        "80 % are " +
                        formatted("%.4g", low_s) + " to " + formatted("%.4g", high_s) +
                        " s. With d-mod-k: " + formatted("%.4g", by_d_mod_k_s(scenario, plain, predict)) + " s.");
  return point;
}

}  // namespace lockstep::sim::point
