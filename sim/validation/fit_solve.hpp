#pragma once
// Solves for the most probable constants, given linearised records (fit.hpp), with or without one source.
#include <string>
#include <vector>

#include "sim/stack/priors.hpp"
#include "sim/validation/fit_rows.hpp"

namespace lockstep::sim {
inline namespace validation {

/// Factors on numbers that the fit assumes; 1: unchanged.
struct FitScales {
  double noise = 1;           ///< on a record's noise within its source
  double most_of_source = 1;  ///< on the largest number of records of a kind with which a source counts
  double of_source = 1;       ///< on the spread of the common error of a source's records of one kind
  /// Factor on the spreads of one entry of priors(): `constants`. If it is null, `spread` has no effect.
  const Prior* constants = nullptr;
  double spread = 1;
};

/// Solves for all constants that the rows determine, with their deviations, records and sources. It uses the rows of
/// all sources that may_predict() `left_out` (empty: of all sources). `catalogue` has the constants at which the rows
/// were linearised, and supplies everything else.
Catalogue solve_constants(const std::vector<FitRow>& rows, const Catalogue& catalogue, const std::string& left_out,
                          const FitScales& scales = {});

}  // namespace validation
}  // namespace lockstep::sim
