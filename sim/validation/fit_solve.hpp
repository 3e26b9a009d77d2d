#pragma once
// Constants that linearised records make most probable (fit.hpp), with or without one source.
#include <string>
#include <vector>

#include "sim/stack/priors.hpp"
#include "sim/validation/fit_rows.hpp"

namespace lockstep::sim {
inline namespace validation {

/// Factors on what the fit takes for granted; 1: as it is.
struct FitScales {
  double noise = 1;           ///< of a record among those of its source
  double most_of_source = 1;  ///< records of a kind by which a source counts
  double of_source = 1;       ///< spread of what the records of one kind and source have in common
  /// Whose spreads `spread` is a factor on: an entry of priors(); null: of none.
  const Prior* constants = nullptr;
  double spread = 1;
};

/// All constants that the rows say something of, with their deviations, records and sources, solved by the rows of all
/// sources that may_predict() `left_out`; empty: of all sources. `catalogue` has the constants at which the rows were linearised, and gives all the rest.
Catalogue solve_constants(const std::vector<FitRow>& rows, const Catalogue& catalogue, const std::string& left_out,
                          const FitScales& scales = {});

}  // namespace validation
}  // namespace lockstep::sim
