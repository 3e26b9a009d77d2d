#pragma once
// Tests the numbers that the fit assumes: halves and doubles each of them, and computes the errors of held-out
// sources.
//
// Spreads of constants (priors.hpp), the noise of records, the most records that count per source, and the spread of
// their common error are assumed. They cannot be fitted on the records that they weigh, so held-out sources must show
// which values are good. For each variant, the linearised records are solved without each source. The records of that
// source are then predicted:
//
//   `error of a record`   |exp(-r) - 1|,  r = log(published / predicted) - sum of slopes times the constants' changes.
//   `error of a source`   The median over its records of a group of kinds.
//
// The output is the median and the mean over sources. In the mean, a source counts at most kFarOff. Nothing is
// simulated again, so the figures differ a little from those of scoring.hpp.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/fit_rows.hpp"

namespace lockstep::sim {
inline namespace validation {

constexpr double kFarOff = 0.6;  // largest error that a source counts with in a mean

struct LeftOutErrors {
  int sources = 0;
  double median = 0, mean = 0;
};

struct FitSensitivity {
  std::string of;                                 ///< name of the number that is changed; empty: none is
  double factor = 1;                              ///< factor on that number
  std::map<std::string, LeftOutErrors> errors{};  ///< by group: "throughput", "all-reduces", "trainings"
};

/// In the first entry all numbers are unchanged. `catalogue` has the constants at which the rows were linearised.
/// `jobs` processes run at a time.
std::vector<FitSensitivity> fit_sensitivities(const FitRows& rows, const Catalogue& catalogue, int jobs);

/// Writes a line for each variant in which errors change.
std::string sensitivity_table(const std::vector<FitSensitivity>& all);

}  // namespace validation
}  // namespace lockstep::sim
