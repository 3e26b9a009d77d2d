// Writes predictions as a file and as a table.
#include <algorithm>

#include "engine/base/format_printf.hpp"
#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

Json predictions_json(const std::vector<Prediction>& predictions) {
  Json list = Json::array();
  for (const Prediction& p : predictions) {
    list.push_back(prediction_json(p.record->id, p.record->metric, p.record->unit, p));
    if (p.record->gpus > 0) list.back()["gpus"] = p.record->gpus;
  }
  return rounded({{"schema", kPredictionsSchema}, {"predictions", list}});
}

std::string predictions_table(const std::vector<Prediction>& predictions) {
  std::size_t width = 4;
  for (const Prediction& p : predictions) width = std::max(width, p.record->id.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 60));
  std::string text = format_printf("%-*s  %-24s %12s  %-27s %12s %9s\n", w, "id", "metric", "predicted", "low - high",
                                   "published", "error");
  std::string unmapped;
  for (const Prediction& p : predictions) {
    if (!p.is_mapped()) {
      unmapped += p.record->id + ": unmapped: " + p.task.unmapped + "\n";
      continue;
    }
    const std::string published = p.record->value ? short_number(*p.record->value) : "-";
    const std::string bounds = short_number(p.low) + " - " + short_number(p.high);
    const std::string error = p.has_error() ? percent(p.error(), "%+.1f %%") : "-";
    text += format_printf("%-*s  %-24s %12s  %-27s %12s %9s\n", w, p.record->id.c_str(), p.record->metric.c_str(),
                          short_number(p.predicted).c_str(), bounds.c_str(), published.c_str(), error.c_str());
  }
  return text + unmapped;
}

}  // namespace lockstep::sim::validation
