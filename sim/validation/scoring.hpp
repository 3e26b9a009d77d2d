#pragma once
// Measures the leave-one-source-out error. Constants and bounds of the other sources alone (whole_source()) predict
// every record, on two tracks:
//
//   `facts`     From the record's facts: no published result of its source is used at all.
//   `results`   With values that its experiment gives, such as a rate of one GPU. Only records with such values count.
//
// The error of a family ("throughput", "all-reduce", ...) is the median over sources of each source's median |error|. A
// table of a hundred rows thus counts as much as a paper with one. Shares inside the bounds are means over sources.
// Half widths are medians of the sources' medians. The baselines (baselines.hpp) are scored in the same way. Each is
// shown with the predictions' error on the records for which the baseline exists.
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
};

/// Predicts in the order of `targets`, first on the track of facts. The track of results has only the targets that use
/// a result.
std::vector<LeftOut> predict_left_out(const FittedConstants& fitted, const std::vector<Record>& records,
                                      const std::vector<const Record*>& targets, int jobs);

/// Holds the error of a baseline, and the predictions' error on the same records.
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

/// Families are family_of()'s (suite.hpp); the rates of transformers are in one of their own as well.
std::map<std::pair<std::string, Track>, std::vector<const LeftOut*>> by_family(const std::vector<LeftOut>& all);

/// Writes a row per family and track.
std::string scoring_table(const std::vector<LeftOut>& all);
/// Writes a row per source of every family and track, to show where predictions fail.
std::string source_table(const std::vector<LeftOut>& all);
Json scoring_json(const std::vector<LeftOut>& all);

}  // namespace lockstep::sim::validation
