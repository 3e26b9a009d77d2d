#pragma once
// What a point costs.
//
//   hourly = billed GPUs x GPU price + NICs x NIC price + nodes x node price
//   energy = GPUs of all billed nodes x power x time, or by the nodes' load (energy.hpp)
//   cost   = hourly x time + energy x tariff
//
// Time: that in which the job has its nodes, all of it but where it waits for spot nodes. Nodes that stand by for failed ones
// are paid for like the others. Billed GPUs: all of the nodes that the point occupies (nodes of separate parameter servers
// included), or those that train, as the plan's "bill" says. NICs are those of all nodes, none for a point of one node. Bounds: the time's and
// the prices' uncertainty, in quadrature.
#include <string>

#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

struct Money {
  bool is_known = false;  ///< false where the plan has no price for the point's GPU
  std::string currency;
  double cost = 0;  ///< in the plan's currency
  double low_cost = 0;
  double high_cost = 0;
  double energy_j = 0;      ///< 0 where no power is given
  double node_power_w = 0;  ///< mean, of a plan with "energy"
  double co2_kg = 0;        ///< 0 where no intensity is given
};

/// Multipliers, for what-ifs.
struct PriceFactors {
  double gpu = 1;
  double network = 1;  ///< NICs and nodes
  double energy = 1;
};

Money money_of(const PricesSpec& prices, const PriceOverrides& overrides, const Outcome& outcome,
               const PriceFactors& factors = {});

}  // namespace lockstep::sim::plan
