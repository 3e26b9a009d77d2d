#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/loss_curve/loss_question.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::loss_curve {
namespace {

constexpr std::size_t kMostRows = 16;  // most rows of a table
constexpr std::size_t kShownRefusals = 3;

std::string loss_cell(double loss) {
  return formatted("%.3f", loss);
}

/// Returns low and high: blank for a given value, "open" for an end without limit.
std::vector<std::string> end_cells(const BoundedValue& value, std::string (*text)(double)) {
  if (value.low == value.high) return {"", ""};
  return {text(value.low), std::isinf(value.high) ? "open" : text(value.high)};
}

std::vector<std::string> head_of(const LossAnswer& answer) {
  const LossQuestion& q = answer.question;
  std::vector<std::string> names;
  if (!q.model_family.empty()) names.emplace_back("model");
  names.insert(names.end(), {"parameters", "batch tokens", "critical", "tokens", "low", "high", "loss", "low", "high"});
  if (!q.has_machine()) {
    names.emplace_back("FLOP");
    return names;
  }
  names.insert(names.begin(), "GPUs");
  names.insert(names.end(), {"tokens/s", answer.calendar_text.empty() ? "time" : "calendar", "low", "high"});
  if (q.job.usd_per_gpu_hour > 0) names.emplace_back("USD");
  names.emplace_back("");
  return names;
}

std::vector<std::string> cells_of(const LossQuestion& q, const LossRow& row) {
  std::vector<std::string> cells;
  if (q.has_machine()) cells.push_back(std::to_string(row.gpus));
  if (!q.model_family.empty()) cells.push_back(row.model);
  cells.insert(cells.end(),
               {format_count(row.parameters), row.batch_tokens > 0 ? format_count(row.batch_tokens) : "small",
                format_count(row.critical_batch_tokens), format_count(row.tokens.middle)});
  for (const std::string& end : end_cells(row.tokens, format_count)) cells.push_back(end);
  cells.push_back(loss_cell(row.loss.middle));
  for (const std::string& end : end_cells(row.loss, loss_cell)) cells.push_back(end);
  if (!q.has_machine()) {
    cells.push_back(formatted("%.3g", row.flops));
    return cells;
  }
  cells.push_back(rate_text(row.tokens_per_s.middle));
  for (const double seconds : {row.paid_s().middle, row.paid_s().low, row.paid_s().high})
    cells.push_back(std::isinf(seconds) ? "open" : duration_text(seconds));
  if (q.job.usd_per_gpu_hour > 0) cells.push_back(with_thousands(row.usd));
  cells.emplace_back(row.is_on_frontier ? "frontier" : "");
  return cells;
}

std::string model_text(const LossQuestion& q, const LossRow& row) {
  return q.model_family.empty() ? "" : row.model + " (" + format_count(row.parameters) + " parameters) on ";
}

/// Describes the first row: with limits it is the best one, otherwise the fastest.
std::string best_text(const LossAnswer& answer) {
  const LossQuestion& q = answer.question;
  const LossRow& best = answer.rows.front();
  if (!q.has_machine()) return "";
  const std::string choice = model_text(q, best) + std::to_string(best.gpus) + " GPUs, batches of " +
                             format_count(best.batch_tokens) + " tokens";
  if (q.has_limits())
    return "Least loss: " + loss_cell(best.loss.middle) + " (" + loss_cell(best.loss.low) + " to " +
           loss_cell(best.loss.high) + ") by " + choice + ", " + format_count(best.tokens.middle) + " tokens in " +
           duration_text(best.paid_s().middle) +
           (best.usd > 0 ? " for " + with_thousands(best.usd) + " USD" : std::string()) + ".\n";
  std::string text = "Least time: " + choice + ", " + duration_text(best.paid_s().middle) + ".";
  const LossRow* cheapest = &best;
  for (const LossRow& row : answer.rows)
    if (row.refused.empty() && row.loss.middle == best.loss.middle && row.usd < cheapest->usd) cheapest = &row;
  if (best.usd > 0)
    text += " Least cost: " + model_text(q, *cheapest) + std::to_string(cheapest->gpus) + " GPUs, batches of " +
            format_count(cheapest->batch_tokens) + " tokens, " + with_thousands(cheapest->usd) + " USD.";
  return text + "\n";
}

std::string refusals_text(const LossAnswer& answer) {
  std::string text;
  std::size_t refused = 0;
  for (const LossRow& row : answer.rows) {
    if (row.refused.empty() || ++refused > kShownRefusals) continue;
    text += "  " + (row.gpus > 0 ? std::to_string(row.gpus) + " GPUs, " : std::string()) +
            format_count(row.parameters) + " parameters: " + row.refused + "\n";
  }
  if (refused == 0) return "";
  return "Refused: " + std::to_string(refused) + " of " + std::to_string(answer.rows.size()) + " candidates" +
         (refused > kShownRefusals ? ", such as" : "") + "\n" + text;
}

Json bounds_json(const BoundedValue& value) {
  return {{"value", value.middle}, {"low", value.low}, {"high", std::isinf(value.high) ? Json() : Json(value.high)}};
}

}  // namespace

std::string loss_text(const LossAnswer& answer) {
  TextTable table;
  table.add(head_of(answer));
  std::size_t shown = 0;
  for (const LossRow& row : answer.rows)
    if (row.refused.empty() && shown++ < kMostRows) table.add(cells_of(answer.question, row));
  std::string text = best_text(answer) + "\n" + table.text();
  if (shown > kMostRows) text += "... and " + std::to_string(shown - kMostRows) + " more rows (--json has all)\n";
  if (answer.question.has_limits())
    text += "frontier: no smaller model has a lower loss, which counts where the model is used afterwards\n";
  else if (answer.question.has_machine())
    text += "frontier: no other row has a lower loss, is faster and is cheaper\n";
  text += refusals_text(answer) + "\nLoss in nats per token; low and high: 80 % prediction interval.\n" +
          answer.calendar_text;
  for (const LossRow& row : answer.rows)
    if (row.parameter_interval)
      text += "Best size for " + formatted("%.3g", row.flops) + " FLOP: " + format_count(row.parameters) + " (" +
              format_count(row.parameter_interval->low) + " to " + format_count(row.parameter_interval->high) +
              ") parameters.\n";
  text += "Law: " + answer.law.name + ", " + answer.law.data + "; other data and vocabularies shift the loss.\n";
  for (const std::string& note : answer.notes) text += "Extrapolated: " + note + ".\n";
  return text;
}

Json loss_json(const LossAnswer& answer) {
  Json rows = Json::array();
  for (const LossRow& row : answer.rows) {
    Json json = Json::object();
    if (!row.model.empty()) json["model"] = row.model;
    json["parameters"] = row.parameters;
    if (row.parameter_interval) json["parameter_interval"] = bounds_json(*row.parameter_interval);
    json["batch_tokens"] = row.batch_tokens;
    if (row.gpus > 0) json["gpus"] = row.gpus;
    json["status"] = row.refused.empty() ? "ok" : "refused";
    if (!row.refused.empty()) {
      json["refused"] = row.refused;
      rows.push_back(json);
      continue;
    }
    json["critical_batch_tokens"] = row.critical_batch_tokens;
    json["tokens"] = bounds_json(row.tokens);
    json["loss"] = bounds_json(row.loss);
    json["flops"] = row.flops;
    if (row.gpus > 0) {
      json["tokens_per_s"] = bounds_json(row.tokens_per_s);
      json["seconds"] = bounds_json(row.seconds);
      if (row.calendar_s) {
        json["calendar_s"] = bounds_json(*row.calendar_s);
        json["interruptions"] = row.interruptions;
      }
      if (row.usd > 0) json["usd"] = row.usd;
      json["frontier"] = row.is_on_frontier;
    }
    rows.push_back(json);
  }
  return rounded({{"schema", "lockstep/loss/1"},
                  {"law", answer.law.id},
                  {"law_source", answer.law.source},
                  {"rows", rows},
                  {"notes", answer.notes}});
}

}  // namespace lockstep::sim::loss_curve
