#pragma once
// Predictions of published results in the results' own units.
#include <memory>
#include <string>
#include <vector>

#include "sim/quantity/quantity_prediction.hpp"
#include "sim/validation/result_task.hpp"

namespace lockstep::sim::validation {

struct [[nodiscard]] Prediction : QuantityPrediction {
  std::shared_ptr<const Record> record;  ///< resolved

  bool has_error() const { return is_mapped() && record->value && *record->value != 0; }
  /// Predicted over published, less 1. For an efficiency: predicted less published, 0.01 per percentage point.
  double error() const;
};

/// Returns the position of a published value in the interval: 0 at the prediction, -1 and 1 at half_width() on either
/// side. NaN if the record has no value or its class is not calibrated.
double published_at(const Prediction& prediction);

/// Predicts the targets. `all` are the records whose given results may be used. A prediction depends only on its own
/// record and on given results, never on other targets or on the order of records.
std::vector<Prediction> predict_records(const std::vector<const Record*>& targets, const std::vector<Record>& all,
                                        const Catalogue& catalogue, int jobs, const MapOptions& options = {});

/// resolve_record(), which also chooses the parts of the split that the record does not give (closed_split.hpp).
Record resolve_target(const Record& record, const Catalogue& catalogue);

/// Like predict_records(), for resolved targets and the output of given_results().
std::vector<Prediction> predict_resolved(const std::vector<std::shared_ptr<const Record>>& targets,
                                         const std::vector<Record>& given, const Catalogue& catalogue,
                                         const TimingOptions& timing, const MapOptions& options = {});

/// Returns all records with the role "target".
std::vector<const Record*> targets_of(const std::vector<Record>& records);

/// Writes the file of `simulate --predict --json`, schema "lockstep/predictions/1".
Json predictions_json(const std::vector<Prediction>& predictions);
/// Writes a row per record: id, metric, predicted, published, error. Unmapped records follow with their reasons.
std::string predictions_table(const std::vector<Prediction>& predictions);

}  // namespace lockstep::sim::validation
