#pragma once
// Predictions of records, in the records' own units.
#include <string>
#include <vector>

#include "sim/records/map.hpp"
#include "sim/records/run.hpp"
#include "sim/records/translate.hpp"

namespace lockstep::sim {
inline namespace records {

struct Prediction {
  const Record* record;  ///< of the list that was predicted, which must outlive it
  MappedRecord mapped;
  double predicted = 0;
  double low = 0;  ///< bounds calibrated to hold four published values of five
  double high = 0;
  double off_below = 0;  ///< log of predicted over low, by the uncertainty of the inputs alone
  double off_above = 0;

  bool is_mapped() const { return mapped.unmapped.empty(); }
  bool has_error() const { return is_mapped() && record->value && *record->value != 0; }
  /// Predicted over published less 1; of an efficiency the difference, 0.01 for a point.
  double error() const;
};

/// Classes of bounds that are calibrated together with this one, wider ones last: the first that has been counts. The widest
/// is "all", but for transformers' rates, whose reach is in another unit: "sequences".
std::vector<std::string> bounds_classes(const std::string& bounds_class);

/// How far a published value is from the prediction: 0 at it, -1 and 1 where the inputs' uncertainty and what is off
/// whatever they say end; of the class "sequences" the latter alone. NaN where it has none or is not of that kind.
double published_at(const Prediction& prediction);

/// Bounds of a class, in units of published_at().
struct Reach {
  double below = 1.3, above = 1.3;
};
Reach reach_of(const std::string& bounds_class, const Catalogue& catalogue);
void set_bounds(Prediction& prediction, const Reach& reach);

/// Sets `low` and `high` by the calibrations of the prediction's class, if it has one.
void set_bounds(Prediction& prediction, const Catalogue& catalogue);

/// Predicts the targets; `all` are the records whose given results may be used. A prediction depends on its own record
/// and on these, never on other targets nor on an order.
std::vector<Prediction> predict_records(const std::vector<const Record*>& targets, const std::vector<Record>& all,
                                        const Catalogue& catalogue, int jobs, const MapOptions& options = {});

/// The same for jobs, given ones as given_jobs() has them.
std::vector<Prediction> predict_jobs(const std::vector<const JobSpec*>& targets, const std::vector<JobSpec>& given,
                                     const Catalogue& catalogue, const RunOptions& run, const MapOptions& options = {});

/// Runs what is mapped, and sets the predictions and their bounds.
void predict_mapped(std::vector<Prediction>& predictions, const Catalogue& catalogue, const RunOptions& run);

/// All with the role "target".
std::vector<const Record*> targets_of(const std::vector<Record>& records);

/// The file of `simulate --predict --json`, schema "lockstep/predictions/1".
Json predictions_json(const std::vector<Prediction>& predictions);
/// A row per record: id, metric, predicted, published, error; then the unmapped ones with their reasons.
std::string predictions_table(const std::vector<Prediction>& predictions);

}  // namespace records
}  // namespace lockstep::sim
