#pragma once
// Computes the cost of a point.
//
//   hourly = billed GPUs x GPU price + NICs x NIC price + nodes x node price
//   energy = GPUs of all billed nodes x power x time, or by the nodes' load (energy.hpp)
//   cost   = hourly x time + energy x tariff
//
// Time excludes waiting for spot nodes. Spare nodes are billed like the others. The plan's "bill" selects the billed
// GPUs: all of the nodes that the point occupies (including nodes of separate parameter servers), or only those that
// train. NICs are those of all nodes; a point of one node has none. The interval combines the uncertainties of time and
// prices in quadrature.
#include <string>

#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

struct Money {
  bool is_known = false;  ///< false if the plan has no price of the point's GPU
  std::string currency;
  double cost = 0;  ///< in the plan's currency
  double low_cost = 0;
  double high_cost = 0;
  double energy_j = 0;      ///< 0 if no power is given
  double node_power_w = 0;  ///< mean power, if the plan has "energy"
  double co2_kg = 0;        ///< 0 if no carbon intensity is given
};

/// Multipliers of prices, for what-ifs.
struct PriceFactors {
  double gpu = 1;
  double network = 1;  ///< on NICs and nodes
  double energy = 1;
};

Money money_of(const PricesSpec& prices, const PriceOverrides& overrides, const Outcome& outcome,
               const PriceFactors& factors = {});

}  // namespace lockstep::sim::plan
