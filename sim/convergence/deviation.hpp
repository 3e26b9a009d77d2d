#pragma once
// What cells deviate from their law by, and what that says of cells between them.
//
// The cells of a sweep (runs at one x) lie above or below a law of two parameters together with their neighbours: the
// law bends otherwise than training does. Log iterations are the law's plus a deviation d(x) with
//
//   cov(d(x), d(x')) = between (0.7 exp(-|ln x - ln x'| / 2) + 0.3 [x = x'])      (ln (1 + x) where x begins at 0)
//
// of which a cell's mean over its runs shows d plus within / runs. Its mean elsewhere, given the cells, is the best
// linear predictor (simple kriging: Rasmussen and Williams 2006, eq. 2.25). Far from all cells it is zero, and the law
// alone speaks. The part that neighbours share and its reach are assumed: chosen on the records of LeNet to 95 to 97 %,
// whose held-out cells come out with a median error of 11 % (results/convergence/2026-11-21/laws.txt).
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::convergence {

/// Mean deviation of a cell's runs, in the logarithm of iterations.
struct CellDeviation {
  double x = 1;
  double log_deviation = 0;
  int runs = 1;
};

struct Deviations {
  std::vector<CellDeviation> cells;  ///< none: nothing is known beyond the law
  double between = 0;                ///< variance of a cell about the law
  double within = 0;                 ///< variance of a run about its cell
};

/// Expected deviation at x. `from_zero`: x may be 0, and distances are those of 1 + x.
double expected_deviation(const Deviations& deviations, double x, bool from_zero);

}  // namespace lockstep::sim::convergence
