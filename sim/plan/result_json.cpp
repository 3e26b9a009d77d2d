#include <cmath>
#include <set>

#include "engine/base/provenance.hpp"
#include "engine/base/rounded_json.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/plan/around.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan/row_writer.hpp"

namespace lockstep::sim::plan {
namespace {

// Returns null for an unknown value.
Json known(bool is_known, double value) {
  return is_known && std::isfinite(value) ? Json(value) : Json(nullptr);
}

bool is_in_dollars(const PlanSpec& plan) {
  return plan.prices.currency == "USD";
}

Json id_or_null(const PlanResult& result, const std::optional<std::size_t>& row) {
  return row ? Json(result.rows[*row].point->id) : Json(nullptr);
}

Json objective_json(const PlanSpec& plan) {
  const Objective& o = plan.objective;
  const bool has_budget = o.kind == ObjectiveKind::least_time_in_budget;
  return {{"kind", name_of(o.kind)},
          {"deadline_s", known(o.kind == ObjectiveKind::least_cost_by_deadline, o.deadline_s)},
          {"budget", known(has_budget, o.budget)},
          {"budget_usd", known(has_budget && is_in_dollars(plan), o.budget)},
          {"cautious", o.is_cautious}};
}

Json plan_spec_json(const PlanSpec& plan) {
  Json axes = Json::array();
  const auto add = [&](const std::string& name, const std::vector<AxisValue>& of_axis) {
    for (const auto& [shown, values] : shown_of(name, of_axis)) axes.push_back({{"name", shown}, {"values", values}});
  };
  for (const Axis& axis : plan.axes) add(axis.name, axis.values);
  add("point", plan.listed);
  return {{"name", plan.name},
          {"description", plan.description},
          {"currency", plan.prices.currency},
          {"objective", objective_json(plan)},
          {"axes", axes},
          {"coarse", name_of(plan.refine.coarse)},
          {"refined", name_of(plan.refine.refined)}};
}

Json failure_runs_json(const PlanResult& result) {
  if (!result.clocked) return nullptr;
  const ClockedTime& c = *result.clocked;
  return {{"runs", c.runs}, {"time_s", c.mean_s}, {"time_s_p10", c.low_s}, {"time_s_p90", c.high_s}};
}

Json scaling_json(const ScalingRow& row) {
  const Outcome& o = row.outcome;
  return {{"gpus", o.gpus},
          {"nodes", o.nodes},
          {"samples_per_s", o.samples_per_s()},
          {"samples_per_s_low", o.samples_per_s() / o.relative_high},
          {"samples_per_s_high", o.samples_per_s() / o.relative_low},
          {"scaling_efficiency", known(row.scaling_efficiency > 0, row.scaling_efficiency)},
          {"fidelity", name_of(o.fidelity)}};
}

Json breakdown_json(const PlanResult& result) {
  const Breakdown& b = *result.breakdown;
  Json parts = Json::array();
  const auto add = [&](const char* name, double seconds) { parts.push_back({{"name", name}, {"seconds", seconds}}); };
  add("forward", b.forward_s);
  add("backward", b.backward_s);
  add("update", b.update_s);
  add("exposed communication", b.exposed_communication_s);
  add("bubble", b.bubble_s);
  add("idle", b.idle_s);
  Json groups = Json::array();
  for (const LayerGroup& g : b.layer_groups)
    groups.push_back({{"name", g.name},
                      {"layers", g.layers},
                      {"forward_s", g.forward_s},
                      {"backward_s", g.backward_s},
                      {"update_s", g.update_s},
                      {"gradient_bytes", g.gradient_bytes}});
  return {{"point", result.rows[b.row].point->id},
          {"iteration_s", b.forward_s + b.backward_s + b.update_s + b.exposed_communication_s + b.bubble_s + b.idle_s},
          {"parts", parts},
          {"layer_groups", groups},
          {"note",
           "idle: waiting for input and for slower GPUs; times of the layers are the cost model's, scaled to "
           "the compute time of the iteration"}};
}

Json sensitivity_json(const PlanResult& result, const SensitivityRow& s) {
  const PlanRow row = result.rows[*result.focus()];
  const bool has_cost = s.why.empty() && row.money.is_known;
  Json json{{"what", s.what},
            {"time_s", known(s.why.empty(), s.time_s)},
            {"cost", known(has_cost, s.cost)},
            {"cost_usd", known(has_cost && row.money.currency == "USD", s.cost)},
            {"time_change", known(s.why.empty(), s.time_change)},
            {"cost_change", known(has_cost, s.cost_change)}};
  if (!s.why.empty()) json["why"] = s.why;
  json["recommended"] = id_or_null(result, s.recommended);
  json["then_time_s"] = known(s.recommended.has_value(), s.then_time_s);
  json["then_cost"] = known(s.recommended && s.then_cost > 0, s.then_cost);
  return json;
}

std::string text_of(Json json) {
  return rounded(std::move(json)).dump(2, ' ', false, Json::error_handler_t::replace);
}

// Returns the document with null in place of the points.
Json all_but_points(const PlanResult& result, const std::vector<std::string>& argv) {
  Json json{{"schema", "lockstep/plan-result/1"}};
  json["provenance"] = provenance(argv, Cluster::network_model(), result.plan->inputs);
  if (!result.plan->from.is_null()) json["from"] = result.plan->from;
  json["plan"] = plan_spec_json(*result.plan);
  if (!result.is_final) {
    const std::vector<RowState>& states = result.rows.states();
    const auto is_waiting = [](const RowState& row) { return row.status == RowStatus::waiting; };
    json["so_far"] = {{"waiting", std::count_if(states.begin(), states.end(), is_waiting)},
                      {"points", result.rows.size()}};
  }
  json["answer"] = {{"recommended", id_or_null(result, result.recommended)},
                    {"runner_up", id_or_null(result, result.runner_up)},
                    {"closest", id_or_null(result, result.closest)},
                    {"text", answer_text(result)},
                    {"why", answer_why(result)},
                    {"failure_runs", failure_runs_json(result)}};
  json["best_of_machines"] = Json::array();
  for (std::size_t i : best_of_machines(result)) json["best_of_machines"].push_back(result.rows[i].point->id);
  json["frontier"] = Json::array();
  for (std::size_t i : result.frontier) json["frontier"].push_back(result.rows[i].point->id);
  json["points"] = nullptr;
  json["scaling"] = Json::array();
  for (const ScalingRow& row : result.scaling) json["scaling"].push_back(scaling_json(row));
  json["breakdown"] = result.breakdown ? breakdown_json(result) : Json(nullptr);
  json["sensitivity"] = Json::array();
  for (const SensitivityRow& row : result.sensitivity) json["sensitivity"].push_back(sensitivity_json(result, row));
  json["refinement"] = {{"points", result.refined_points},
                        {"largest_error", result.analytic_error},
                        {"median_error", result.typical_error}};
  json["assumptions"] = Json::array();
  for (const Assumption& a : result.assumptions)
    json["assumptions"].push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
  json["warnings"] = result.warnings;
  return json;
}

}  // namespace

Json point_json(const PlanSpec& plan, const PlanRow& row) {
  const Outcome& o = row.outcome;
  const bool ok = o.is_ok(), has_cost = ok && row.money.is_known;
  Json json{{"id", row.point->id}, {"setting", row.setting()}, {"status", o.status}, {"why", o.why}};
  json["fidelity"] = ok ? Json(name_of(o.fidelity)) : Json(nullptr);
  json["cluster"] = o.cluster;
  json["gpu"] = o.gpu;
  json["gpus"] = known(o.gpus > 0, o.gpus);
  json["nodes"] = known(o.gpus > 0, o.nodes);
  for (const char* count : {"gpus", "nodes"})
    if (json[count].is_number()) json[count] = json[count].get<int>();
  json["batch_per_gpu"] = o.gpus > 0 ? Json(o.batch_per_gpu) : Json(nullptr);
  json["global_batch"] = o.gpus > 0 ? Json(std::llround(o.global_batch)) : Json(nullptr);
  json["iteration_s"] = known(ok, o.iteration_s);
  json["samples_per_s"] = known(ok, o.samples_per_s());
  json["samples_per_s_low"] = known(ok, o.samples_per_s_low());
  json["samples_per_s_high"] = known(ok, o.samples_per_s_high());
  const bool has_tokens = ok && o.sequence_tokens > 0, has_mfu = ok && o.mfu > 0;
  json["tokens_per_s"] = known(has_tokens, o.tokens_per_s());
  json["tokens_per_s_low"] = known(has_tokens, o.samples_per_s_low() * o.sequence_tokens);
  json["tokens_per_s_high"] = known(has_tokens, o.samples_per_s_high() * o.sequence_tokens);
  json["mfu"] = known(has_mfu, o.mfu);
  json["mfu_low"] = known(has_mfu, o.mfu / o.relative_high);
  json["mfu_high"] = known(has_mfu, o.mfu / o.relative_low);
  json["scaling_efficiency"] = known(ok && row.scaling_efficiency > 0, row.scaling_efficiency);
  json["compute_s"] = known(ok, o.compute_s);
  json["exposed_communication_s"] = known(ok, o.exposed_communication_s);
  json["idle_s"] = known(ok, o.idle_s);
  json["memory_bytes_per_gpu"] = o.memory ? Json(o.memory->total_bytes()) : Json();
  json["memory_barely_fits"] = o.memory ? Json(o.memory->barely_fits()) : Json();
  json["memory"] = o.memory ? memory_json(*o.memory) : Json();
  json["updates"] = known(ok, o.updates);
  json["time_s"] = known(ok, o.time_s);
  json["time_s_low"] = known(ok, o.time_s_low);
  json["time_s_high"] = known(ok, o.time_s_high);
  json["cost"] = known(has_cost, row.money.cost);
  json["cost_low"] = known(has_cost, row.money.low_cost);
  json["cost_high"] = known(has_cost, row.money.high_cost);
  const bool is_usd = has_cost && row.money.currency == "USD";
  json["cost_usd"] = known(is_usd, row.money.cost);
  json["cost_usd_low"] = known(is_usd, row.money.low_cost);
  json["cost_usd_high"] = known(is_usd, row.money.high_cost);
  const bool fails = ok && o.undisturbed_s > 0;
  json["goodput"] = known(fails, o.goodput);
  json["interruptions"] = known(fails, o.interruptions);
  const bool has_spot = fails && plan.failures && plan.failures->availability;
  json["spot_interruptions"] = known(has_spot, o.spot_interruptions);
  json["waiting_for_nodes_s"] = known(has_spot, o.time_s - o.paid_s());
  json["checkpoint_s"] = known(fails, o.checkpoint_s);
  json["checkpoint_interval_s"] = known(fails, o.checkpoint_interval_s);
  json["spare_nodes"] = fails ? Json(o.spares) : Json(nullptr);
  json["time_without_failures_s"] = known(fails, o.undisturbed_s);
  json["cost_without_failures"] = known(fails && has_cost, fails ? money_without_failures(plan.prices, row).cost : 0);
  json["energy_j"] = known(ok && row.money.energy_j > 0, row.money.energy_j);
  json["node_power_w"] = known(ok && row.money.node_power_w > 0, row.money.node_power_w);
  json["co2_kg"] = known(ok && row.money.co2_kg > 0, row.money.co2_kg);
  json["on_frontier"] = row.is_on_frontier;
  json["meets_objective"] = row.meets_objective;
  json["warnings"] = o.warnings;
  return json;
}

Json plan_json(const PlanResult& result, const std::vector<std::string>& argv) {
  Json json = all_but_points(result, argv);
  json["points"] = Json::array();
  for (const PlanRow& row : result.rows) json["points"].push_back(point_json(*result.plan, row));
  return rounded(std::move(json));
}

Json plan_page_json(const PlanResult& result, const std::vector<std::string>& argv) {
  if (result.rows.size() <= kMostPointsOfPage) return plan_json(result, argv);
  const std::vector<std::size_t> near = nearest_to_frontier(result, kMostPointsOfPage);
  std::set<std::size_t> shown(near.begin(), near.end());
  shown.insert(result.frontier.begin(), result.frontier.end());
  for (const auto& row : {result.recommended, result.runner_up, result.closest})
    if (row) shown.insert(*row);
  for (const SensitivityRow& row : result.sensitivity)
    if (row.recommended) shown.insert(*row.recommended);
  Json json = all_but_points(result, argv);
  json["points"] = Json::array();
  for (const std::size_t row : shown) json["points"].push_back(point_json(*result.plan, result.rows[row]));
  json["points_left_out"] = result.rows.size() - shown.size();
  return rounded(std::move(json));
}

void write_plan_json(const PlanResult& result, const std::vector<std::string>& argv, int jobs,
                     const std::function<void(const std::string& piece)>& write) {
  const std::string all = text_of(all_but_points(result, argv)), null = "null";
  const std::string place = "\n  \"points\": ";  // in the outermost object
  const std::size_t points = all.find(place + null) + place.size();
  write(all.substr(0, points));
  const auto text_of_rows = [&](std::size_t from, std::size_t until) {
    std::string text;
    for (std::size_t row = from; row < until; ++row) {
      text += row == 0 ? "[\n    " : ",\n    ";
      for (const char c : text_of(point_json(*result.plan, result.rows[row]))) {
        text += c;
        if (c == '\n') text += "    ";
      }
    }
    return text;
  };
  write_rows(result.rows.size(), jobs, text_of_rows, write);
  write((result.rows.empty() ? "[]" : "\n  ]") + all.substr(points + null.size()) + "\n");
}

}  // namespace lockstep::sim::plan
