#pragma once
// One task of a plan, in the process that simulates it.
#include <optional>

#include "sim/plan/plan_spec.hpp"
#include "sim/plan/task.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim {

/// Reads the point's scenario and predicts it. A point that is impossible or beyond a limit is refused, one whose
/// simulation throws has failed; both say why. Empty: this process cannot, since its SimGrid engine serves another
/// cluster; another process can. `shared` lives as long as the process.
std::optional<Outcome> evaluate(const PlanSpec& plan, const Task& task, AnalyticPoints& shared, bool is_first);

/// Tasks with the same text run one after the other on one cluster in one process, by the closed form; empty for a task
/// that needs a process of its own.
std::string batch_key(const PlanSpec& plan, const Task& task);

}  // namespace lockstep::sim
