#pragma once
// Fits a law of the loss to runs. The fit starts from another law.
//
// The logarithm of a run's loss scatters about the law by Student's t with 4 degrees of freedom, which is robust
// against runs that went wrong. The fit is maximum a posteriori, by iterated weighted Levenberg-Marquardt steps. The
// other law's parameters are the mean of the prior, so that few runs move only the parameters that they determine.
// First they move the level of the loss on the user's data and vocabulary, and hardly the exponents.
#include <vector>

#include "sim/loss/loss_law.hpp"
#include "sim/loss/loss_points.hpp"

namespace lockstep::sim::loss {

/// Standard deviations of the prior about another law, assumed. Between laws of Chinchilla's and Step Law's runs, ln E
/// differs by 0.16, and alpha and beta by 0.06.
LossVector prior_deviations();

/// True if the runs had two or more batches. Otherwise they do not determine the critical batch.
bool has_several_batches(const std::vector<LossPoint>& points);

/// Fits a law. It takes the critical batch from `prior` unless has_several_batches(). Throws InputError for fewer than
/// two points.
LossLaw fit_loss_law(const std::vector<LossPoint>& points, const LossLaw& prior);
/// Fits, then widens spread and covariance until intervals of `coverage` cover that share of held-out points. It needs
/// three sizes, and never narrows.
LossLaw fit_calibrated_law(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage);

/// A size of model, predicted by a law that was fitted without it.
struct LeftOutSize {
  double parameters = 0;
  int inside = 0;                       ///< points whose loss lies within the interval
  std::vector<double> log_errors;       ///< per point: ln(predicted / true) tokens to its loss
  std::vector<double> log_loss_errors;  ///< per point: ln(predicted / true) loss
};

/// Predicts every size by a law fitted without it, if two or more runs are of other sizes. `widening` multiplies the width of fit_loss_law()'s intervals.
std::vector<LeftOutSize> leave_out_sizes(const std::vector<LossPoint>& points, const LossLaw& prior, double coverage,
                                         double widening = 1);

/// For a pair of N and D with at least four batches: the critical batch fitted to that pair, compared with that of a
/// law fitted to the other sizes.
struct CriticalBatchCheck {
  double parameters = 0, tokens = 0;
  double measured = 0, predicted = 0;  ///< tokens
};
std::vector<CriticalBatchCheck> check_critical_batches(const std::vector<LossPoint>& points, const LossLaw& prior);

}  // namespace lockstep::sim::loss
