#pragma once
// One task of a plan, in the process that simulates it.
#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim::plan {

/// Reads the point's scenario and predicts it. A point that is impossible or beyond a limit is refused, and one whose
/// simulation throws has failed; Outcome::why gives the reason. `series` reads the plan's scenario and shares work between
/// neighbours in the grid.
Outcome evaluate(const PlanSpec& plan, const Task& task, ScenarioSeries& series);
Outcome evaluate(const PlanSpec& plan, const Task& task);

/// Whether the task must be the first of its process, because it uses SimGrid's engine, which runs once per process.
bool needs_own_process(const Task& task);

}  // namespace lockstep::sim::plan
