#pragma once
// Values of the keys that a scenario leaves out. They appear in the result's "scenario", and those that a prediction
// rests on in its "assumptions", as assumed.
#include "engine/base/json.hpp"

namespace lockstep::sim {

void fill_defaults(JsonDocument& scenario);

/// The baseline, where the scenario names none: one node of the cluster that settings and variants have left in place.
void fill_baseline(JsonDocument& scenario);

/// Of the scenario's cluster; 1 where there is no such number, which the cluster's reader refuses later.
int gpus_per_node(const Json& scenario);

}  // namespace lockstep::sim
