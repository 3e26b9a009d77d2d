#pragma once
// Tests the numbers that the fit assumes: the errors of held-out sources, with each of these numbers halved and
// doubled.
//
// Spreads of constants (priors.hpp), the noise of records, how many records of a source count, and their common part
// are assumed. They cannot be fitted on the records that they weigh, so held-out sources must show which values are
// good. For each variant the linearised records are solved without each source. The records of that source are then
// predicted:
//
//   `error of a record`   |exp(-r) - 1|,  r = log(published / predicted) - sum of slopes times the constants' changes.
//   `error of a source`   The median over its records of a group of kinds.
//
// The output is the median and the mean over sources; in the mean a source counts with at most kFarOff. Nothing is
// simulated again, so that figures differ a little from those of scoring.hpp.
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
  std::string of;                                 ///< the number, as the table names it; empty: no number is changed
  double factor = 1;                              ///< on it
  std::map<std::string, LeftOutErrors> errors{};  ///< by group: "throughput", "all-reduces", "trainings"
};

/// The first entry leaves all numbers unchanged. `catalogue` has the constants at which the rows were linearised.
/// `jobs`: processes at a time.
std::vector<FitSensitivity> fit_sensitivities(const FitRows& rows, const Catalogue& catalogue, int jobs);

/// A line for each variant that changes something.
std::string sensitivity_table(const std::vector<FitSensitivity>& all);

}  // namespace validation
}  // namespace lockstep::sim
