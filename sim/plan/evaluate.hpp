#pragma once
// One task of a plan, in the process that simulates it.
#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim {
inline namespace plan {

/// Reads the point's scenario and predicts it. A point that is impossible or beyond a limit is refused, one whose
/// simulation throws has failed; both say why. `series`: of the plan's scenario; neighbours in the grid share in it.
Outcome evaluate(const PlanSpec& plan, const Task& task, ScenarioSeries& series);
Outcome evaluate(const PlanSpec& plan, const Task& task);

/// Whether the task must be the first of its process: SimGrid's engine, which carries messages, lives once in it.
bool needs_own_process(const Task& task);

}  // namespace plan
}  // namespace lockstep::sim
