#pragma once
// Runs one task of a plan in the process that simulates it.
#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim::plan {

/// Reads the point's scenario and predicts it. An impossible point, or one that exceeds a limit, is refused. A point
/// has failed if its simulation throws. Outcome::why has the reason. `series` reads the plan's scenario, and shares
/// work between neighbours in the grid; so does `cache`.
Outcome evaluate(const PlanSpec& plan, const Task& task, ScenarioSeries& series, PointCache* cache = nullptr);
Outcome evaluate(const PlanSpec& plan, const Task& task);

/// True if the task must be the first of its process, because SimGrid's engine runs only once per process.
bool needs_own_process(const Task& task);

}  // namespace lockstep::sim::plan
