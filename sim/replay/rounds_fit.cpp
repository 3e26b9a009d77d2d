#include "sim/replay/rounds_fit.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {
namespace {

bool fits(const Phase& phase, const UnitClasses& units, std::vector<double>& load) {
  bool all_fit = true;
  const auto for_crossings = [&](auto&& what) {
    for (const auto& block : phase.transfers.blocks())
      for (const Run& run : block->runs())
        for (const RunOnLinks::Crossing& crossing : units.find(run).crossings) what(crossing);
  };
  for_crossings([&](const RunOnLinks::Crossing& c) { load[to_index(c.link)] += c.messages * c.route_bytes_per_s; });
  for_crossings([&](const RunOnLinks::Crossing& c) {
    all_fit = all_fit && load[to_index(c.link)] <= units.bandwidth(c.link) * (1 + kCapacityTolerance);
  });
  for_crossings([&](const RunOnLinks::Crossing& c) { load[to_index(c.link)] = 0; });
  return all_fit;
}

bool all_fit(const std::vector<const Plan*>& plans, const Cluster& cluster) {
  const UnitClasses units(plans, cluster);
  std::vector<double> load(to_index(units.links()), 0);
  return std::all_of(plans.begin(), plans.end(), [&](const Plan* plan) {
    return std::all_of(plan->phases.begin(), plan->phases.end(),
                       [&](const Phase& phase) { return fits(phase, units, load); });
  });
}

}  // namespace

bool rounds_fit(const Program& program, const Cluster& cluster) {
  std::vector<const Plan*> plans;
  for (const Plan& plan : program.plans)
    if (!plan.call) plans.push_back(&plan);
  return all_fit(plans, cluster);
}

bool rounds_fit(const Plan& plan, const Cluster& cluster) {
  return plan.call.has_value() || all_fit({&plan}, cluster);
}

}  // namespace lockstep::sim::replay
