#include "sim/plan/rows.hpp"

namespace lockstep::sim::plan {

Task task_of(std::size_t point, Fidelity fidelity) {
  Task task;
  task.point = point;
  task.fidelity = fidelity;
  return task;
}

Json PlanRow::setting() const {
  Json all = point->setting;
  if (!outcome.split.empty()) all["split"] = outcome.split;
  return all;
}

PlanRows::PlanRows(const PlanSpec& plan, std::shared_ptr<const Outcomes> outcomes)
    : plan_(&plan), outcomes_(std::move(outcomes)), states_(plan.points.size()) {}

PlanRow PlanRows::read(std::size_t index) const {
  const RowState& state = states_[index];
  PlanRow row;
  row.point = std::make_shared<const PlanPoint>(plan_->points[index]);
  row.requested = static_cast<Fidelity>(state.requested);
  row.is_refined = state.is_refined;
  row.scaling_efficiency = state.scaling_efficiency;
  row.is_on_frontier = state.is_on_frontier;
  row.meets_objective = state.meets_objective;
  if (state.status == RowStatus::waiting) {
    row.outcome.status = "waiting";
    return row;
  }
  row.outcome = outcomes_->at(task_of(index, row.requested).key());
  complete(row);
  return row;
}

// Computes the cost, and refuses a point whose objective needs an unknown one.
void PlanRows::complete(PlanRow& row) const {
  Outcome& outcome = row.outcome;
  if (!outcome.is_ok()) return;
  row.money = money_of(plan_->prices, row.point->prices, outcome);
  if (row.money.is_known || plan_->objective.kind == ObjectiveKind::least_time) return;
  outcome.status = "refused";
  outcome.why = "no price for a GPU \"" + outcome.gpu + "\" of " + outcome.cluster +
                "; allowed: one in /prices/gpu, or in the prices of its axis value";
}

void PlanRows::set(std::size_t index, Fidelity requested, const Outcome& outcome) {
  PlanRow row;
  row.point = std::make_shared<const PlanPoint>(plan_->points[index]);
  row.outcome = outcome;
  complete(row);
  const Outcome& o = row.outcome;
  RowState& state = states_[index];
  state = {};
  state.status = o.is_ok() ? RowStatus::ok : o.status == "refused" ? RowStatus::refused : RowStatus::failed;
  state.requested = static_cast<std::uint8_t>(requested);
  state.fidelity = static_cast<std::uint8_t>(o.fidelity);
  state.gpus = static_cast<std::uint32_t>(o.gpus);
  state.machine = machines_.emplace(row.machine(), static_cast<std::uint32_t>(machines_.size())).first->second;
  state.is_listed_machine = !row.point->machine.empty();
  state.has_tokens = o.is_ok() && o.sequence_tokens > 0;
  state.has_split = !o.split.empty();
  state.is_refined = !o.is_ok() || o.fidelity == Fidelity::message || o.fidelity == plan_->refine.refined;
  if (!o.is_ok()) return;
  state.time_s = o.time_s;
  state.time_s_high = o.time_s_high;
  state.is_priced = row.money.is_known;
  state.cost = row.money.cost;
  state.cost_high = row.money.high_cost;
}

}  // namespace lockstep::sim::plan
