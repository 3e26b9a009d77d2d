#include "sim/validation/predict.hpp"

#include <cmath>
#include <limits>

#include "sim/quantity/closed_split.hpp"

namespace lockstep::sim::validation {

double published_at(const Prediction& p) {
  if (!p.has_error() || !p.task.interval_class.is_calibrated() || p.predicted <= 0 || *p.record->value <= 0)
    return std::numeric_limits<double>::quiet_NaN();
  const double off = std::log(*p.record->value / p.predicted);
  return off / half_width(p, off > 0 ? p.off_above : p.off_below);
}

double Prediction::error() const {
  const Quantity q = task.quantity;
  const bool is_share =
      q == Quantity::efficiency || q == Quantity::iteration_increase || q == Quantity::throughput_gain || task.is_share;
  return is_share ? predicted - *record->value : predicted / *record->value - 1;
}

Record resolve_target(const Record& record, const Catalogue& catalogue) {
  Record resolved = resolve_record(record, catalogue);
  if (resolved.refused.empty() && resolved.not_predicted.empty()) close_split(resolved, catalogue);
  return resolved;
}

std::vector<Prediction> predict_resolved(const std::vector<std::shared_ptr<const Record>>& targets,
                                         const std::vector<Record>& given, const Catalogue& catalogue,
                                         const TimingOptions& timing, const MapOptions& options) {
  std::vector<Prediction> predictions;
  for (const std::shared_ptr<const Record>& record : targets) {
    predictions.emplace_back();
    predictions.back().record = record;
    predictions.back().task = task_of(*record, given, catalogue, options);
  }
  std::vector<QuantityPrediction*> pointers;
  for (Prediction& prediction : predictions) pointers.push_back(&prediction);
  predict_quantities(pointers, catalogue, timing);
  return predictions;
}

std::vector<Prediction> predict_records(const std::vector<const Record*>& targets, const std::vector<Record>& all,
                                        const Catalogue& catalogue, int jobs, const MapOptions& options) {
  std::vector<std::shared_ptr<const Record>> resolved;
  for (const Record* record : targets)
    resolved.push_back(std::make_shared<const Record>(resolve_target(*record, catalogue)));
  return predict_resolved(resolved, given_results(all, catalogue), catalogue, {jobs, true}, options);
}

std::vector<const Record*> targets_of(const std::vector<Record>& records) {
  std::vector<const Record*> targets;
  for (const Record& record : records)
    if (record.role == Role::target) targets.push_back(&record);
  return targets;
}

}  // namespace lockstep::sim::validation
