#pragma once
// Predictions of published results, in the results' own units.
#include <memory>
#include <string>
#include <vector>

#include "sim/quantity/quantity_prediction.hpp"
#include "sim/validation/result_task.hpp"

namespace lockstep::sim::validation {

struct [[nodiscard]] Prediction : QuantityPrediction {
  std::shared_ptr<const Record> record;  ///< resolved

  bool has_error() const { return is_mapped() && record->value && *record->value != 0; }
  /// Predicted over published, less 1; for an efficiency predicted less published, 0.01 per percentage point.
  double error() const;
};

/// Returns the distance of a published value from the prediction: 0 at it, -1 and 1 at half_width() to either side. NaN
/// if the record has no value or its class is not calibrated.
double published_at(const Prediction& prediction);

/// Predicts the targets; `all` are the records whose given results may be used. A prediction depends on its own record
/// and on these, never on other targets nor on an order.
std::vector<Prediction> predict_records(const std::vector<const Record*>& targets, const std::vector<Record>& all,
                                        const Catalogue& catalogue, int jobs, const MapOptions& options = {});

/// resolve_record(), with what the record leaves open of its split chosen (sim/quantity/closed_split.hpp).
Record resolve_target(const Record& record, const Catalogue& catalogue);

/// predict_records() of resolved targets, with given results as given_results() has them.
std::vector<Prediction> predict_resolved(const std::vector<std::shared_ptr<const Record>>& targets,
                                         const std::vector<Record>& given, const Catalogue& catalogue,
                                         const TimingOptions& timing, const MapOptions& options = {});

/// All with the role "target".
std::vector<const Record*> targets_of(const std::vector<Record>& records);

/// Writes the file of `simulate --predict --json`, schema "lockstep/predictions/1".
Json predictions_json(const std::vector<Prediction>& predictions);
/// A row per record: id, metric, predicted, published, error; then the unmapped ones with their reasons.
std::string predictions_table(const std::vector<Prediction>& predictions);

}  // namespace lockstep::sim::validation
