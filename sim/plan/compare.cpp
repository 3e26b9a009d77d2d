#include "sim/plan/compare.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::plan {
namespace {

double square(double x) {
  return x * x;
}

double of_group(bool is_shared, double a, double b) {
  return is_shared ? square(a - b) : square(a) + square(b);
}

// Returns the squared part of a point's interval that no group of inputs explains.
double unexplained(const Outcome& o) {
  const double half_width = (o.time_s_high - o.time_s_low) / (2 * o.time_s);
  return std::max(
      0.0, square(half_width) - square(o.spread_compute) - square(o.spread_bandwidth) - square(o.spread_latency));
}

double width(const Outcome& a, const Outcome& b) {
  const bool same_gpu = a.gpu == b.gpu, same_node = same_gpu && a.cluster == b.cluster;
  const bool same_links = same_node && ((a.nodes == 1) == (b.nodes == 1)) && (a.nodes == 1 || a.links == b.links);
  double sum = of_group(same_gpu, a.spread_compute, b.spread_compute) +
               of_group(same_links, a.spread_bandwidth, b.spread_bandwidth) +
               of_group(same_links, a.spread_latency, b.spread_latency);
  if (!(same_gpu && a.global_batch == b.global_batch)) sum += unexplained(a) + unexplained(b);
  return std::sqrt(sum);
}

Ratio around(double value, double half_width) {
  return {value, value * std::exp(-half_width), value * std::exp(half_width)};
}

}  // namespace

Ratio time_ratio(const PlanRow& a, const PlanRow& b) {
  return around(b.outcome.time_s / a.outcome.time_s, width(a.outcome, b.outcome));
}

Ratio cost_ratio(const PlanRow& a, const PlanRow& b, double price_uncertainty) {
  const double of_prices = a.outcome.gpu == b.outcome.gpu ? 0 : std::sqrt(2.0) * price_uncertainty;
  return around(b.money.cost / a.money.cost, std::hypot(width(a.outcome, b.outcome), of_prices));
}

}  // namespace lockstep::sim::plan
