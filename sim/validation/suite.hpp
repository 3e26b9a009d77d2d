#pragma once
// Reads suites of published results, JSON of the schema "lockstep/suite/1". A suite says which results constants were
// fitted on, which test them, and the errors that predictions may have:
//
//   {"schema": "lockstep/suite/1", "name": "all-reduce", "description": "...",
//    "tolerances": {"median_error": 0.12, "coverage": 0.8, "median_width": 0.25, "why"?: "..."},
//    "records": [{... as in record.hpp ..., "use": "given" | "fit" | "test" | "apart"}]}
//
// Records with the use "apart" are predicted and scored separately. They are later results of a source whose older ones
// are fitted, such as a vendor's next summary, or whole trainings, whose hours include failures and restarts. Whole
// trainings of language models fit one constant and the bounds of their own class (quantity::training_over_fastest()).
// No other constant or bound rests on these records. Tolerances hold for the test records, or for those
// scored apart in a suite without test records. The median of |error| and the median half width of the bounds (relative
// to the prediction) must not exceed them. The share of published values inside the bounds must reach `coverage`.
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

struct Tolerances {
  double median_error = 0;
  double coverage = 0;
  double median_width = 0;
};

struct Suite {
  std::string name;
  std::string description;
  Tolerances tolerances;
  std::vector<Record> records;
};

/// Loads the .json files of a folder, or of its subfolder `suites`, by name. A record that cannot be read keeps its
/// reason (Record::refused) and is not predicted. Throws InputError if a record is both target and given, if two suites
/// have one id, or if `sources.json` next to that folder lacks a record's source (sources.hpp).
std::vector<Suite> load_suites(const std::string& given);
std::vector<Record> records_of(const std::vector<Suite>& suites);
/// Returns the records on which constants are fitted: all without the use "apart", and whole trainings with it, which
/// fit one constant of their own.
std::vector<Record> records_to_fit(const std::vector<Suite>& suites);

/// Returns the records, followed by the given facts of the folder's suites whose ids the records do not have. If there
/// is no such folder, returns only the records. Throws InputError if a suite is wrong.
std::vector<Record> with_known_facts(std::vector<Record> records, const std::string& folder);

/// Returns "fit" or "test" by the rule in the suites' descriptions: the parity of FNV-1a of the group without "-ep".
Use use_by_rule(const std::string& group);

/// Statistics over the predictions of one suite with one use.
struct Score {
  int predicted = 0, unmapped = 0;
  double median = 0, p90 = 0, worst = 0;  ///< of |error|
  std::string worst_id;
  double coverage = 0;      ///< share of published values inside the bounds
  double median_width = 0;  ///< half of high - low over the prediction
};

Score score_of(const std::vector<Prediction>& predictions, Use use);

struct [[nodiscard]] SuiteResult {
  std::string name;  ///< of the suite
  Tolerances tolerances;
  std::vector<Prediction> predictions;  ///< one per target
  Score fit, test, apart;
  /// Returns a line for each tolerance that is broken.
  std::vector<std::string> broken() const;
};

/// Predicts every suite. Given results may come from any of them.
std::vector<SuiteResult> validate_suites(const std::vector<Suite>& suites, const std::vector<Record>& all,
                                         const Catalogue& catalogue, int jobs);
/// Returns the results of predictions that were made elsewhere, in the order of the suites' targets.
std::vector<SuiteResult> results_of(const std::vector<Suite>& suites, std::vector<Prediction> predictions);

/// Returns all targets of the suites, in their order.
std::vector<const Record*> targets_of(const std::vector<Suite>& suites);

/// Returns the family in which a quantity is scored: "throughput", "all-reduce", "speed-up", "efficiency", "time to
/// accuracy", "epochs", "peak memory", "staleness", "iterations", "arrivals", "choices".
std::string family_of(Quantity quantity);
/// Returns the family of a prediction. The time of an epoch belongs to throughput.
std::string family_of(const Prediction& prediction);
/// Writes a row per family and use, over all suites.
std::string quantity_table(const std::vector<SuiteResult>& results);

std::string validation_table(const std::vector<SuiteResult>& results, bool with_records);
Json validation_json(const std::vector<SuiteResult>& results);

}  // namespace lockstep::sim::validation
