#include <algorithm>

#include "sim/plan/plan_result.hpp"
#include "sim/plan/words.hpp"

namespace lockstep::sim {
namespace {

bool has_costs(const PlanRow& row) {
  return row.money.is_known;
}

std::string of(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string facts(const PlanRow& row) {
  const Outcome& o = row.outcome;
  std::string text = time_text(o.time_s) + " (" + time_text(o.time_s_low) + " to " + time_text(o.time_s_high) + ")";
  if (has_costs(row))
    text += ", " + dollars_text(row.money.usd) + " (" + dollars_text(row.money.low_usd) + " to " +
            dollars_text(row.money.high_usd) + ")";
  return text;
}

std::string goal(const Objective& o) {
  switch (o.kind) {
    case ObjectiveKind::least_time:
      return "least time";
    case ObjectiveKind::least_cost:
      return "least cost";
    case ObjectiveKind::least_cost_by_deadline:
      return "least cost within " + time_text(o.deadline_s);
    case ObjectiveKind::least_time_in_budget:
      break;
  }
  return "least time for at most " + dollars_text(o.budget_usd);
}

// What of deadline or budget the high bound breaks though the prediction keeps it.
std::string risk(const Objective& o, const PlanRow& row) {
  if (o.kind == ObjectiveKind::least_cost_by_deadline && row.outcome.time_s_high > o.deadline_s)
    return " Its high bound of " + time_text(row.outcome.time_s_high) + " misses the deadline.";
  if (o.kind == ObjectiveKind::least_time_in_budget && row.money.high_usd > o.budget_usd)
    return " Its high bound of " + dollars_text(row.money.high_usd) + " exceeds the budget.";
  return "";
}

std::string differences(const PlanRow& best, const PlanRow& other) {
  std::string text = signed_percent_text(other.outcome.time_s / best.outcome.time_s - 1) + " time";
  if (best.money.usd > 0 && other.money.is_known)
    text += ", " + signed_percent_text(other.money.usd / best.money.usd - 1) + " cost";
  return text;
}

// Bounds that overlap in what the objective asks for: the order of the two is not sure.
bool is_close(const Objective& o, const PlanRow& a, const PlanRow& b) {
  const bool by_time = o.kind == ObjectiveKind::least_time || o.kind == ObjectiveKind::least_time_in_budget;
  return by_time ? b.outcome.time_s_low <= a.outcome.time_s_high : b.money.low_usd <= a.money.high_usd;
}

}  // namespace

std::string setting_text(const PlanRow& row) {
  std::string text;
  for (const auto& [name, value] : row.point->setting.items())
    text += (text.empty() ? "" : ", ") + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string answer_text(const PlanResult& result) {
  const Objective& objective = result.plan->objective;
  if (!result.focus()) return "No point could be predicted.";
  const PlanRow& row = result.rows[*result.focus()];
  const Outcome& o = row.outcome;
  if (!result.recommended)
    return "No point meets the objective (" + goal(objective) + "). The closest is " + row.point->id + ": " +
           setting_text(row) + ": " + facts(row) + ".";
  return setting_text(row) + " (" + row.point->id + "): " + of(static_cast<std::size_t>(o.gpus), "GPU") + " on " +
         of(static_cast<std::size_t>(o.nodes), "node") + ", global batch " + count_text(o.global_batch) + ", " +
         count_text(o.samples_per_s()) + " samples/s. It takes " + facts(row) + "." + risk(objective, row);
}

std::string answer_why(const PlanResult& result) {
  const Objective& objective = result.plan->objective;
  const auto ok = static_cast<std::size_t>(
      std::count_if(result.rows.begin(), result.rows.end(), [](const PlanRow& r) { return r.outcome.is_ok(); }));
  const auto meeting = static_cast<std::size_t>(
      std::count_if(result.rows.begin(), result.rows.end(), [](const PlanRow& r) { return r.meets_objective; }));
  if (!result.recommended) return "None of " + of(ok, "point") + " that can run meets it: " + goal(objective) + ".";
  std::string text = goal(objective) + " of " + of(meeting, "point") +
                     (meeting == ok ? " that can run" : " that meet it, of " + std::to_string(ok) + " that can run") +
                     ".";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!result.runner_up) return text;
  const PlanRow &best = result.rows[*result.recommended], &other = result.rows[*result.runner_up];
  text +=
      " The runner-up, " + setting_text(other) + " (" + other.point->id + "), has " + differences(best, other) + ".";
  if (is_close(objective, best, other)) text += " Their bounds overlap: the order of the two is not sure.";
  return text;
}

}  // namespace lockstep::sim
