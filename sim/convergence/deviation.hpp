#pragma once
// Models the deviations of cells from their law, and predicts them between cells.
//
// A cell is the runs of a sweep at one x. Neighbouring cells lie above or below a law of two parameters together,
// because the law's curve differs from that of training. Log iterations are the law's plus a deviation d(x):
//
//   `cov(d(x), d(x')) = between (0.7 exp(-|ln x - ln x'| / 2) + 0.3 [x = x'])`      (ln (1 + x) where x begins at 0)
//
// A cell's mean over its runs measures d with the variance within / runs. Between cells, the best linear predictor
// gives the mean of d (simple kriging: Rasmussen and Williams 2006, eq. 2.25). Far from all cells it is zero, and only
// the law counts. The fraction 0.7 and the distance 2 are assumed. They were chosen on LeNet's records to 95 to 97 %,
// whose held-out cells have a median error of 11 % (results/convergence/2026-11-21/laws.txt).
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
  std::vector<CellDeviation> cells;  ///< empty: predictions follow the law alone
  double between = 0;                ///< variance of a cell about the law
  double within = 0;                 ///< variance of a run about its cell
};

/// Expected deviation at x. `from_zero`: x may be 0, so distances are those of ln (1 + x).
double expected_deviation(const Deviations& deviations, double x, bool from_zero);

}  // namespace lockstep::sim::convergence
