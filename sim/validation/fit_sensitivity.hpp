#pragma once
// What the fit's own assumed numbers are worth: how far off sources are that are left out, with each of these numbers half
// as large and twice as large.
//
// Spreads of constants (priors.hpp), the noise of records, how many records of a source count and what they have in common
// are assumed. None can be fitted on the records that they weigh; which of them suit is told by sources that are not
// looked at. For each variant the linearised records are solved without each source, whose records are then predicted:
//
//   error of a record   |exp(-r) - 1|,  r = log(published / predicted) - sum of slopes times what constants moved
//   error of a source   the median over its records of a group of kinds
//
// of which the median and the mean (a source no more than kFarOff) over sources are shown. Nothing is simulated again, so that
// figures differ a little from those of scoring.hpp.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/fit_rows.hpp"

namespace lockstep::sim {
inline namespace validation {

constexpr double kFarOff = 0.6;  // as which a source counts in a mean that is farther off

struct LeftOutErrors {
  int sources = 0;
  double median = 0, mean = 0;
};

struct FitSensitivity {
  std::string of;                                 ///< the number, as the table calls it; empty: all as they are
  double factor = 1;                              ///< on it
  std::map<std::string, LeftOutErrors> errors{};  ///< by group: "throughput", "all-reduces", "trainings"
};

/// The first is of all numbers as they are. `catalogue` has the constants at which the rows were linearised; `jobs`
/// processes at a time.
std::vector<FitSensitivity> fit_sensitivities(const FitRows& rows, const Catalogue& catalogue, int jobs);

/// A line for each, those that change nothing left out.
std::string sensitivity_table(const std::vector<FitSensitivity>& all);

}  // namespace validation
}  // namespace lockstep::sim
