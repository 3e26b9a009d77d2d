#include <algorithm>
#include <map>
#include <set>

#include "engine/base/printing.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan/words.hpp"
#include "sim/program/gpu_memory.hpp"

namespace lockstep::sim::plan {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Write = std::string (*)(const Rows& rows);

// Aligns columns, two blanks apart: the first on the left, all others on the right.
std::string as_text(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + fill : "  " + fill + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string as_markdown(const Rows& rows) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (const std::string& cell : rows[r]) text += " " + for_markdown(cell) + " |";
    text += "\n";
    if (r > 0) continue;
    for (std::size_t i = 0; i < rows[r].size(); ++i) text += i == 0 ? "|---|" : "---:|";
    text += "\n";
  }
  return text;
}

std::string mark(const PlanResult& result, std::size_t row) {
  if (!result.rows.state(row).is_ok()) return result.rows[row].outcome.status;
  if (result.recommended == row) return "recommended";
  if (result.runner_up == row) return "runner-up";
  return result.closest == row ? "closest" : "";
}

// True if the samples are sequences: tables then show tokens/s and MFU in place of samples/s.
bool shows_tokens(const PlanResult& result) {
  const std::vector<RowState>& states = result.rows.states();
  return std::any_of(states.begin(), states.end(), [](const RowState& row) { return row.has_tokens; });
}

std::string mfu_text(const Outcome& o) {
  return o.mfu > 0 ? percent(o.mfu) : "";
}

std::string rate_cell(const Outcome& o, double factor = 1) {
  return rate_text((o.sequence_tokens > 0 ? o.tokens_per_s() : o.samples_per_s()) * factor);
}

Rows point_rows(const PlanResult& result, const std::vector<std::size_t>& shown) {
  const bool has_cost =
      std::any_of(shown.begin(), shown.end(), [&](std::size_t i) { return result.rows.state(i).is_priced; });
  const bool has_tokens = shows_tokens(result);
  Rows rows{{"point", "setting", "GPUs", "memory/GPU", has_tokens ? "tokens/s" : "samples/s"}};
  if (has_tokens) rows[0].push_back("MFU");
  rows[0].insert(rows[0].end(), {"efficiency", "time", "low", "high"});
  if (has_cost) rows[0].insert(rows[0].end(), {"cost", "low", "high"});
  if (result.plan->failures) rows[0].push_back("goodput");
  rows[0].insert(rows[0].end(), {"fidelity", ""});
  for (std::size_t i : shown) {
    const PlanRow r = result.rows[i];
    const Outcome& o = r.outcome;
    if (!o.is_ok()) {
      rows.push_back({r.point->id, setting_text(r)});
      rows.back().resize(rows[0].size());
      rows.back().back() = mark(result, i);
      continue;
    }
    rows.push_back({r.point->id, setting_text(r), std::to_string(o.gpus), memory_text(*o.memory), rate_cell(o)});
    if (has_tokens) rows.back().push_back(mfu_text(o));
    rows.back().insert(rows.back().end(), {r.scaling_efficiency > 0 ? percent(r.scaling_efficiency) : "",
                                           time_text(o.time_s), time_text(o.time_s_low), time_text(o.time_s_high)});
    for (double amount : {r.money.cost, r.money.low_cost, r.money.high_cost})
      if (has_cost) rows.back().push_back(r.money.is_known ? money_text(amount, r.money.currency) : "");
    if (result.plan->failures) rows.back().push_back(percent(o.goodput));
    rows.back().insert(rows.back().end(), {name_of(o.fidelity), mark(result, i)});
  }
  return rows;
}

// Returns the best point of each machine, followed by the machines that cannot run.
std::vector<std::size_t> shown_machines(const PlanResult& result) {
  std::vector<std::size_t> shown = best_of_machines(result);
  std::set<std::uint32_t> seen;
  for (std::size_t i : shown) seen.insert(result.rows.state(i).machine);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (const RowState& row = result.rows.state(i); row.is_listed_machine && seen.insert(row.machine).second)
      shown.push_back(i);
  return shown;
}

// The rows always include the recommended point and the runner-up.
Rows frontier_rows(const PlanResult& result) {
  std::vector<std::size_t> shown = result.frontier;
  for (const auto& row : {result.recommended, result.runner_up, result.closest})
    if (row && std::find(shown.begin(), shown.end(), *row) == shown.end()) shown.push_back(*row);
  std::sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    const double x = result.rows.state(a).time_s, y = result.rows.state(b).time_s;
    return x != y ? x < y : a < b;
  });
  return point_rows(result, shown);
}

Rows scaling_rows(const PlanResult& result) {
  Rows rows{{"GPUs", shows_tokens(result) ? "tokens/s" : "samples/s", "low", "high", "efficiency", "fidelity"}};
  for (const ScalingRow& r : result.scaling) {
    const Outcome& o = r.outcome;
    rows.push_back({std::to_string(o.gpus), rate_cell(o), rate_cell(o, 1 / o.relative_high),
                    rate_cell(o, 1 / o.relative_low), r.scaling_efficiency > 0 ? percent(r.scaling_efficiency) : "",
                    name_of(o.fidelity)});
  }
  return rows;
}

Rows breakdown_rows(const Breakdown& b) {
  const double all = b.forward_s + b.backward_s + b.update_s + b.bubble_s + b.exposed_communication_s + b.idle_s;
  Rows rows{{"part of an iteration", "time", "share"}};
  const auto add = [&](const char* name, double seconds) {
    rows.push_back({name, format_seconds(seconds), percent(seconds / all)});
  };
  add("forward", b.forward_s);
  add("backward", b.backward_s);
  add("update", b.update_s);
  add("exposed communication", b.exposed_communication_s);
  if (b.bubble_s > 0) add("pipeline bubble", b.bubble_s);
  add("waiting for input or slower GPUs", b.idle_s);
  return rows;
}

Rows sensitivity_rows(const PlanResult& result) {
  Rows rows{{"what if", "time", "change", "cost", "change", result.recommended ? "then recommended" : "then meets it"}};
  for (const SensitivityRow& s : result.sensitivity) {
    if (!s.why.empty()) {
      rows.push_back({s.what, "", "", "", "", s.why});
      continue;
    }
    const std::string then = !s.recommended                        ? "none"
                             : s.recommended == result.recommended ? "the same"
                                                                   : machine_text(result.rows[*s.recommended]);
    const bool has_cost = s.cost > 0;
    rows.push_back({s.what, time_text(s.time_s), signed_percent_text(s.time_change),
                    has_cost ? money_text(s.cost, result.plan->prices.currency) : "",
                    has_cost ? signed_percent_text(s.cost_change) : "", then});
  }
  return rows;
}

std::string counts(const PlanResult& result) {
  std::map<RowStatus, std::size_t> status;
  std::map<std::string, std::size_t> fidelity;
  for (const RowState& row : result.rows.states()) {
    ++status[row.status];
    if (row.is_ok()) ++fidelity[name_of(static_cast<Fidelity>(row.fidelity))];
  }
  std::string text = std::to_string(result.rows.size()) + (result.rows.size() == 1 ? " point: " : " points: ") +
                     std::to_string(status[RowStatus::ok]) + " predicted";
  std::string by;
  for (const char* name : {"analytic", "fast", "message"})
    if (fidelity[name] > 0) by += (by.empty() ? "" : ", ") + std::to_string(fidelity[name]) + " in " + name;
  if (!by.empty()) text += " (" + by + ")";
  for (const auto& [of, name] : {std::pair(RowStatus::refused, " refused"), std::pair(RowStatus::failed, " failed")})
    if (status[of] > 0) text += ", " + std::to_string(status[of]) + name;
  return text + ".";
}

// Returns the reasons of the first few failed and refused points, and the number of the others.
std::vector<std::string> reasons(const PlanResult& result) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> lines;
  for (const auto& [status, name] :
       {std::pair(RowStatus::failed, "failed"), std::pair(RowStatus::refused, "refused")}) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      if (result.rows.state(i).status != status || ++found > kMost) continue;
      const PlanRow row = result.rows[i];
      lines.push_back(row.point->id + " " + name + ": " + row.outcome.why);
    }
    if (found > kMost)
      lines.push_back("... and " + std::to_string(found - kMost) + " more " + name + " (--json and --csv list all)");
  }
  return lines;
}

std::string kinds(const PlanResult& result) {
  std::map<std::string, int> count;
  for (const Assumption& a : result.assumptions) ++count[a.kind];
  std::string text;
  for (const char* kind : {"measured", "published", "fitted", "assumed"})
    if (count[kind] > 0) text += (text.empty() ? "" : ", ") + std::to_string(count[kind]) + " " + kind;
  return text;
}

}  // namespace

std::string plan_table(const PlanResult& result) {
  std::string text = result.plan->name + "\n\n" + answer_text(result) + "\n" + answer_why(result) + "\n\n";
  const std::vector<std::size_t> machines = shown_machines(result);
  if (machines.size() > 1) text += "Best of each machine:\n" + as_text(point_rows(result, machines)) + "\n";
  if (!result.frontier.empty()) text += "Frontier of time and cost:\n" + as_text(frontier_rows(result)) + "\n";
  if (result.focus()) {
    const std::string id = result.rows[*result.focus()].point->id;
    text += "Around " + id + ":\n" + as_text(scaling_rows(result)) + "\n";
    if (result.breakdown) text += as_text(breakdown_rows(*result.breakdown)) + "\n";
    text += as_text(sensitivity_rows(result)) + "\n";
  }
  text += counts(result) + "\n";
  for (const std::string& line : reasons(result)) text += "  " + line + "\n";
  for (const std::string& line : result.warnings) text += "Warning: " + line + "\n";
  return text + "Inputs: " + kinds(result) + " (--json lists them with their sources).\n";
}

std::string plan_markdown(const PlanResult& result) {
  std::string text = "# " + for_markdown(result.plan->name) + "\n\n";
  if (!result.plan->description.empty()) text += for_markdown(result.plan->description) + "\n\n";
  text += "**Answer.** " + for_markdown(answer_text(result)) + "\n\n" + for_markdown(answer_why(result)) + "\n\n";
  const std::vector<std::size_t> machines = shown_machines(result);
  if (machines.size() > 1) text += "## Best of each machine\n\n" + as_markdown(point_rows(result, machines)) + "\n";
  if (!result.frontier.empty()) text += "## Frontier of time and cost\n\n" + as_markdown(frontier_rows(result)) + "\n";
  if (result.focus()) {
    text += "## Scaling\n\n" + as_markdown(scaling_rows(result)) + "\n";
    if (result.breakdown) text += "## An iteration\n\n" + as_markdown(breakdown_rows(*result.breakdown)) + "\n";
    text += "## Sensitivity\n\n" + as_markdown(sensitivity_rows(result)) + "\n";
  }
  text += "## Points\n\n" + counts(result) + "\n\n";
  for (const std::string& line : reasons(result)) text += "- " + for_markdown(line) + "\n";
  for (const std::string& line : result.warnings) text += "- Warning: " + for_markdown(line) + "\n";
  text += "\n## Assumptions\n\n";
  Rows rows{{"input", "value", "kind", "source"}};
  for (const Assumption& a : result.assumptions)
    rows.push_back({a.pointer, a.value.is_string() ? a.value.get<std::string>() : a.value.dump(), a.kind, a.source});
  return text + as_markdown(rows);
}

}  // namespace lockstep::sim::plan
