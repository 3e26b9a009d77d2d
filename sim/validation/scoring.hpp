#pragma once
// Measures the leave-one-source-out error. Constants and bounds of the other sources alone (Record::whole_source) predict
// every record, on two tracks:
//
//   `facts`     From the record's facts alone, without any published result of its source.
//   `results`   With values that its experiment gives, such as a rate of one GPU. Only records with such values count.
//
// The error of a family ("throughput", "all-reduce", ...) is the median over sources of each source's median |error|. A
// table of a hundred rows thus counts as much as a paper with one. Shares inside the bounds are means over sources.
// Half widths are medians of the sources' medians. Baselines (baselines.hpp) are scored in the same way. Each is shown
// next to the error of predictions on the same records.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/baselines.hpp"
#include "sim/validation/fit.hpp"

namespace lockstep::sim::validation {

enum class Track { facts, results };
std::string to_string(Track track);

struct [[nodiscard]] LeftOut {
  Track track;
  std::string source;
  Prediction prediction;
  Baselines baselines;
  std::string rate_class;  ///< class_of_rate()
};

/// Predicts all targets in their order on the track of facts. Then predicts those that use a result on the track of
/// results. Records scored apart are no baselines.
std::vector<LeftOut> predict_left_out(const FittedConstants& fitted, const std::vector<Record>& records,
                                      const std::vector<const Record*>& targets, int jobs);

/// Compares the errors of a baseline and of the predictions on the same records.
struct Comparison {
  int sources = 0;
  double baseline = 0, prediction = 0;
};

struct SourceScore {
  int sources = 0, records = 0;
  double error = 0;   ///< median over sources
  double inside = 0;  ///< mean over sources of the share inside the bounds
  double width = 0;   ///< half of high - low over the prediction, median over sources
  Comparison nearest, mfu, linear, alpha_beta;
};

SourceScore score_of(const std::vector<const LeftOut*>& records);

/// Groups by family_of() (suite.hpp). Rates of transformers are in a family of their own as well.
std::map<std::pair<std::string, Track>, std::vector<const LeftOut*>> by_family(const std::vector<LeftOut>& all);

/// Writes a row per family and track.
std::string scoring_table(const std::vector<LeftOut>& all);
/// Writes a row per class of transformers' rates that are predicted from facts, next to a constant MFU (Utilisations).
std::string class_table(const std::vector<LeftOut>& all);
/// Writes a row per source of every family and track, to show where predictions fail.
std::string source_table(const std::vector<LeftOut>& all);
Json scoring_json(const std::vector<LeftOut>& all);

}  // namespace lockstep::sim::validation
