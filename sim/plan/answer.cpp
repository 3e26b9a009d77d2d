#include <algorithm>
#include <map>

#include "engine/base/expected_count.hpp"
#include "engine/base/text.hpp"
#include "sim/plan/compare.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan/words.hpp"

namespace lockstep::sim::plan {
namespace {

std::string of(std::size_t n, const char* what) {
  return with_thousands(static_cast<double>(n)) + " " + what + (n == 1 ? "" : "s");
}

std::string facts(const PlanRow& row) {
  const Outcome& o = row.outcome;
  std::string text = time_text(o.time_s) + " (" + time_text(o.time_s_low) + " to " + time_text(o.time_s_high) + ")";
  if (!row.money.is_known) return text;
  const Money& m = row.money;
  return text + ", " + money_text(m.cost, m.currency) + " (" + money_text(m.low_cost, m.currency) + " to " +
         money_text(m.high_cost, m.currency) + ")";
}

// Explains the cost of failures: compares the training with one without them.
std::string failures_text(const PlanResult& result, const PlanRow& row) {
  const Outcome& o = row.outcome;
  if (o.undisturbed_s <= 0) return "";
  const double lost = 1 - o.goodput;
  const auto& trace = result.plan->failures->availability;
  std::string text = " " + (lost < 1e-3 ? std::string("Less than 0.1 %") : percent(lost)) +
                     " of the time goes to failures: " + expected_count_text(o.interruptions) + " interruptions";
  if (trace)
    text += ", " + (o.spot_interruptions > 0 ? expected_count_text(o.spot_interruptions) : std::string("none")) +
            " of them by the loss of spot nodes (" + trace->name + ")";
  if (trace && o.paid_share < 1) text += ", " + time_text(o.time_s - o.paid_s()) + " of unpaid waiting for nodes";
  text += ", checkpoints of " + time_text(o.checkpoint_s) + " every " + time_text(o.checkpoint_interval_s);
  if (o.spares > 0) text += ", " + of(static_cast<std::size_t>(o.spares), "spare node");
  text += "; without any " + time_text(o.undisturbed_s);
  const Money money = money_without_failures(result.plan->prices, row);
  text += (money.is_known ? ", " + money_text(money.cost, money.currency) : "") + ".";
  if (const auto& runs = result.clocked) {
    const std::string low = time_text(runs->low_s), high = time_text(runs->high_s);
    text += " Of " + std::to_string(runs->runs) +
            " runs on SimGrid's clock, at the predicted speed, eight in ten take " +
            (runs->low_s == runs->high_s ? low + ", without an interruption." : low + " to " + high + ".");
  }
  return text;
}

std::string energy_text(const PlanResult& result, const PlanRow& row) {
  if (!result.plan->prices.energy) return "";
  if (row.money.energy_j <= 0)
    return " The power of a node of " + row.outcome.gpu + " is not known; allowed: /prices/gpu_power.";
  std::string text = " It takes " + with_thousands(row.money.energy_j / 3.6e6) + " kWh at " +
                     with_thousands(row.money.node_power_w) + " W a node";
  if (row.money.co2_kg > 0) text += ", " + with_thousands(row.money.co2_kg) + " kg of CO2";
  return text + ".";
}

// Returns "21,685 samples/s", or for sequences "525,223 tokens/s (48.1 % MFU)".
std::string speed_text(const Outcome& o) {
  if (o.sequence_tokens == 0) return rate_text(o.samples_per_s()) + " samples/s";
  return rate_text(o.tokens_per_s()) + " tokens/s" + (o.mfu > 0 ? " (" + percent(o.mfu) + " MFU)" : "");
}

std::string goal(const Objective& o, const std::string& currency) {
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
  return "least time for at most " + money_text(o.budget, currency);
}

// Warns if the prediction meets a deadline or budget that the high end of its interval breaks.
std::string risk(const Objective& o, const PlanRow& row) {
  if (o.kind == ObjectiveKind::least_cost_by_deadline && row.outcome.time_s_high > o.deadline_s)
    return " Its high bound of " + time_text(row.outcome.time_s_high) + " misses the deadline.";
  if (o.kind == ObjectiveKind::least_time_in_budget && row.money.high_cost > o.budget)
    return " Its high bound of " + money_text(row.money.high_cost, row.money.currency) + " exceeds the budget.";
  return "";
}

// Returns by how much a point misses the objective.
std::string missed(const Objective& o, const PlanRow& row) {
  if (o.kind == ObjectiveKind::least_cost_by_deadline) {
    const double late_s = (o.is_cautious ? row.outcome.time_s_high : row.outcome.time_s) - o.deadline_s;
    return std::string(o.is_cautious ? ", at its high bound " : ", ") + time_text(late_s) + " (" +
           percent(late_s / o.deadline_s) + ") later than the deadline of " + time_text(o.deadline_s);
  }
  if (o.kind != ObjectiveKind::least_time_in_budget || !row.money.is_known) return "";
  const double over = (o.is_cautious ? row.money.high_cost : row.money.cost) - o.budget;
  return std::string(o.is_cautious ? ", at its high bound " : ", ") + money_text(over, row.money.currency) + " (" +
         percent(over / o.budget) + ") over the budget of " + money_text(o.budget, row.money.currency);
}

// Returns a text such as "12.0 % more time (9.1 to 15.2 %)".
std::string difference_text(const Ratio& ratio, const char* what) {
  return signed_percent_text(ratio.value - 1) + " " + what + " (" + signed_percent_text(ratio.low - 1) + " to " +
         signed_percent_text(ratio.high - 1) + ")";
}

// Compares two points, and says whether their order under the objective is certain.
std::string comparison(const PlanResult& result, const PlanRow& best, const PlanRow& other) {
  const Ratio time = time_ratio(best, other);
  std::string text = difference_text(time, "time");
  bool is_sure = time.is_sure();
  if (best.money.cost > 0 && other.money.is_known) {
    const Ratio cost = cost_ratio(best, other, result.plan->prices.uncertainty);
    text += ", " + difference_text(cost, "cost");
    if (!result.plan->objective.wants_least_time()) is_sure = cost.is_sure();
  }
  return text +
         (is_sure ? ". Their order is sure: errors that both share cancel." : ". The order of the two is not sure.");
}

// Returns the point's settings other than GPU and number of GPUs, as the beginning of a sentence.
std::string other_settings(const PlanRow& row) {
  std::string text;
  const Json setting = row.setting();
  for (const auto& [name, value] : setting.items()) {
    if (name == "GPU" || name == "GPUs" || name == "nodes") continue;
    text += ", " + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

}  // namespace

Money money_without_failures(const PricesSpec& prices, const PlanRow& row) {
  Outcome o = row.outcome;
  if (o.undisturbed_s <= 0) return row.money;
  for (double* time_s : {&o.time_s, &o.time_s_low, &o.time_s_high}) *time_s *= o.goodput;
  o.goodput = o.paid_share = 1;
  o.spares = 0;
  return money_of(prices, row.point->prices, o);
}

std::string setting_text(const PlanRow& row) {
  std::string text;
  const Json setting = row.setting();
  for (const auto& [name, value] : setting.items())
    text += (text.empty() ? "" : ", ") + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string machine_text(const PlanRow& row) {
  const Outcome& o = row.outcome;
  return with_thousands(o.gpus) + " " + o.gpu + " on " + of(static_cast<std::size_t>(o.nodes), "node") +
         other_settings(row) + " (" + row.point->id + ")";
}

std::vector<std::size_t> best_of_machines(const PlanResult& result) {
  const Objective& objective = result.plan->objective;
  const auto key = [&](std::size_t i) {
    const RowState& row = result.rows.state(i);
    const bool misses_time = objective.kind == ObjectiveKind::least_cost_by_deadline && !row.meets_objective;
    const bool by_time = objective.wants_least_time() ? row.meets_objective || !row.is_priced : misses_time;
    return std::make_tuple(!row.meets_objective, by_time ? row.time_s : row.cost, by_time ? row.cost : row.time_s, i);
  };
  std::map<std::uint32_t, std::size_t> best_of;  // by machine
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (!result.rows.state(i).is_ok()) continue;
    std::size_t& best = best_of.emplace(result.rows.state(i).machine, i).first->second;
    if (key(i) < key(best)) best = i;
  }
  std::vector<std::size_t> best;
  for (const auto& [machine, row] : best_of) best.push_back(row);
  std::sort(best.begin(), best.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::size_t compared = 0;
  const auto is_left_out = [&](std::size_t i) {
    if (!result.rows.state(i).is_listed_machine && compared >= kMachinesCompared) return true;
    ++compared;
    return false;
  };
  best.erase(std::remove_if(best.begin(), best.end(), is_left_out), best.end());
  return best;
}

std::string answer_text(const PlanResult& result) {
  const Objective& objective = result.plan->objective;
  if (!result.focus()) return "No point could be predicted.";
  const PlanRow row = result.rows[*result.focus()];
  const Outcome& o = row.outcome;
  if (!result.recommended)
    return "No point meets the objective (" + goal(objective, result.plan->prices.currency) + "). The closest is " +
           machine_text(row) + ": " + facts(row) + missed(objective, row) + ".";
  return machine_text(row) + ": " + facts(row) + ", at a global batch of " + with_thousands(o.global_batch) + " and " +
         speed_text(o) + "." + failures_text(result, row) + energy_text(result, row) + risk(objective, row);
}

std::string answer_why(const PlanResult& result) {
  const Objective& objective = result.plan->objective;
  const std::string& currency = result.plan->prices.currency;
  const std::vector<RowState>& states = result.rows.states();
  const auto ok = static_cast<std::size_t>(
      std::count_if(states.begin(), states.end(), [](const RowState& r) { return r.is_ok(); }));
  const auto meeting = static_cast<std::size_t>(
      std::count_if(states.begin(), states.end(), [](const RowState& r) { return r.meets_objective; }));
  if (!result.recommended)
    return "None of " + of(ok, "point") + " that can run meets it: " + goal(objective, currency) + ".";
  std::string text = goal(objective, currency) + " of " + of(meeting, "point") +
                     (meeting == ok ? " that can run" : " that meet it, of " + std::to_string(ok) + " that can run") +
                     ".";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!result.runner_up) return text;
  const PlanRow best = result.rows[*result.recommended], other = result.rows[*result.runner_up];
  return text + " The runner-up, " + machine_text(other) + ", has " + comparison(result, best, other);
}

}  // namespace lockstep::sim::plan
