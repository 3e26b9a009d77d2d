#include "sim/plan/money.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::plan {
namespace {

std::optional<double> of_gpu(const std::vector<OfGpu>& list, const Outcome& o) {
  for (const OfGpu& one : list)
    if ((one.gpu.empty() || one.gpu == o.gpu) && (one.cluster.empty() || one.cluster == o.cluster)) return one.value;
  return std::nullopt;
}

// Combines the half widths of the time and of the prices in quadrature.
double side(double time_side, double price_side) {
  return std::hypot(time_side, price_side);
}

}  // namespace

Money money_of(const PricesSpec& prices, const PriceOverrides& overrides, const Outcome& o,
               const PriceFactors& factors) {
  Money money;
  const std::optional<double> power_w = overrides.gpu_power_w ? overrides.gpu_power_w : of_gpu(prices.gpu_power_w, o);
  const std::optional<double> gpu =
      overrides.gpu_price_per_s ? overrides.gpu_price_per_s : of_gpu(prices.gpu_price_per_s, o);
  const int nodes = o.nodes + o.spares;
  const double billed =
      prices.bills_whole_nodes ? double(nodes) * o.gpus_per_node : double(o.gpus) + double(o.spares) * o.gpus_per_node;
  if (prices.energy) {
    const std::optional<double> busy_w = power_w ? power_w : busy_power_per_gpu_w(o.gpu);
    if (busy_w) money.node_power_w = node_power_w(*prices.energy, o, *busy_w);
    if (busy_w) money.energy_j = energy_j(*prices.energy, o, *busy_w);
    if (prices.energy->co2_g_per_kwh) money.co2_kg = money.energy_j / 3.6e6 * *prices.energy->co2_g_per_kwh / 1000;
  } else {
    money.energy_j = billed * power_w.value_or(0) * o.paid_s();
  }
  if (!gpu) return money;
  const double hourly =
      billed * *gpu * factors.gpu +
      (double(o.nics) * nodes / std::max(1, o.nodes) * overrides.nic_price_per_s.value_or(prices.nic_price_per_s) +
       nodes * overrides.node_price_per_s.value_or(prices.node_price_per_s)) *
          factors.network;
  money.is_known = true;
  money.currency = prices.currency;
  money.cost = hourly * o.paid_s() + money.energy_j * prices.energy_price_per_j * factors.energy;
  money.low_cost = money.cost * std::max(0.0, 1 - side(1 - o.time_s_low / o.time_s, prices.uncertainty));
  money.high_cost = money.cost * (1 + side(o.time_s_high / o.time_s - 1, prices.uncertainty));
  return money;
}

}  // namespace lockstep::sim::plan
