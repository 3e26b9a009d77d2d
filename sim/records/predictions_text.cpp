// Predictions as a file and as a table.
#include <algorithm>
#include <optional>

#include "engine/base/text.hpp"
#include "sim/records/job_memory.hpp"
#include "sim/records/predict.hpp"

namespace lockstep::sim {
inline namespace records {

Json predictions_json(const std::vector<Prediction>& predictions) {
  Json list = Json::array();
  for (const Prediction& p : predictions) {
    if (!p.is_mapped()) {
      list.push_back({{"id", p.record->id}, {"metric", p.record->metric}, {"unmapped", p.mapped.unmapped}});
      continue;
    }
    Json assumptions = Json::array();
    std::vector<Assumption> inputs = p.mapped.assumptions;
    if (const std::optional<Assumption> memory = assumed_memory(p)) inputs.push_back(*memory);
    for (const Assumption& a : inputs)
      assumptions.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
    list.push_back({{"id", p.record->id},
                    {"metric", p.record->metric},
                    {"unit", p.record->unit},
                    {"predicted", p.predicted},
                    {"low", p.low},
                    {"high", p.high},
                    {"assumptions", assumptions}});
    if (const Json memory = prediction_memory(p); !memory.is_null()) list.back()["memory"] = memory;
  }
  return {{"schema", "lockstep/predictions/1"}, {"predictions", list}};
}

std::string predictions_table(const std::vector<Prediction>& predictions) {
  std::size_t width = 4;
  for (const Prediction& p : predictions) width = std::max(width, p.record->id.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 60));
  char row[400];
  std::snprintf(row, sizeof row, "%-*s  %-24s %12s  %-27s %12s %9s\n", w, "id", "metric", "predicted", "low - high",
                "published", "error");
  std::string text = row;
  std::string unmapped;
  for (const Prediction& p : predictions) {
    if (!p.is_mapped()) {
      unmapped += p.record->id + ": unmapped: " + p.mapped.unmapped + "\n";
      continue;
    }
    const std::string published = p.record->value ? short_number(*p.record->value) : "-";
    const std::string bounds = short_number(p.low) + " - " + short_number(p.high);
    char error[32] = "-";
    if (p.has_error()) std::snprintf(error, sizeof error, "%+.1f %%", 100 * p.error());
    std::snprintf(row, sizeof row, "%-*s  %-24s %12s  %-27s %12s %9s\n", w, p.record->id.c_str(),
                  p.record->metric.c_str(), short_number(p.predicted).c_str(), bounds.c_str(), published.c_str(),
                  error);
    text += row;
  }
  return text + unmapped;
}

}  // namespace records
}  // namespace lockstep::sim
