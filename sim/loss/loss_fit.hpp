#pragma once
// Fits a law of the loss to runs, starting from another law.
//
// The logarithm of a run's loss scatters about the law by Student's t with 4 degrees of freedom (robust against runs
// that went wrong). The fit is maximum a posteriori, by iterated weighted Levenberg-Marquardt steps. The other law's
// parameters are the mean of the prior, so that few runs only move parameters that they determine. They move the level
// of the loss on one's own data and vocabulary first, and hardly the exponents.
#include <vector>

#include "sim/loss/loss_law.hpp"
#include "sim/loss/loss_points.hpp"

namespace lockstep::sim::loss {

/// Standard deviations of the prior about another law, assumed. Between the laws of Chinchilla's and Step Law's runs ln E
/// differs by 0.16, and alpha and beta by 0.06.
LossVector prior_deviations();

/// Throws InputError for fewer than two points.
LossLaw fit_loss_law(const std::vector<LossPoint>& points, const LossLaw& prior);
/// Fits, then widens spread and covariance until intervals of `coverage` hold that share of left-out points. Needs three
/// sizes; never narrows.
LossLaw fit_calibrated_law(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage);

/// A size of model predicted by a law that has not seen it.
struct LeftOutSize {
  double parameters = 0;
  int inside = 0;                  ///< points whose loss lies within the interval
  std::vector<double> log_errors;  ///< of each point: ln(predicted / true) tokens to its loss
};

/// Leave-one-size-out predictions. `widening` multiplies the width of fit_loss_law()'s intervals.
std::vector<LeftOutSize> leave_out_sizes(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage,
                                         double widening = 1);

/// For each pair of N and D with at least four batches, the critical batch fitted to that pair is compared with the
/// law's. That law is fitted to the other sizes.
struct CriticalBatchCheck {
  double parameters = 0, tokens = 0;
  double measured = 0, predicted = 0;  ///< tokens
};
std::vector<CriticalBatchCheck> check_critical_batches(const std::vector<LossPoint>& points, const LossLaw& prior);

}  // namespace lockstep::sim::loss
