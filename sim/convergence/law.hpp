#pragma once
// Laws of the number of iterations (parameter updates) that training needs to a target, in one variable x. They are
// fitted to runs, some of which may not have reached the target.
//
//   `saturating`   S_min (1 + x_c / x): S-SGD by the images of an update, or averaging algorithms by their learners.
//                  For S-SGD x_c is the critical batch (McCandlish et al. 2018, eq. 2.11). Far below it twice the batch
//                  halves the updates. Far above it a larger batch saves none.
//   `linear`       S_0 (1 + c x): stale gradients by their age in updates.
//   `power`        S_1 x^p: tau, the iterations between synchronisations.
//
// The logarithm of a run's iterations is normal around the law's. A run that ended after T iterations without reaching
// the target is censored: it counts by its probability of needing more than T (a Tobit model). The fit is maximum
// likelihood over the two parameters and the spread. A wide normal prior (a factor of e^3 about the first guess) keeps
// parameters finite that the runs do not determine.
#include <Eigen/Core>
#include <string>
#include <vector>

#include "sim/convergence/deviation.hpp"

namespace lockstep::sim::convergence {

enum class LawKind { saturating, linear, power };
std::string to_string(LawKind kind);

/// Samples, tokens or epochs at a batch over the fewest, which small batches need: 1 + B / B_crit (McCandlish et al.
/// 2018, equation 2.11). The iterations are S_min (1 + B_crit / B) then: the saturating law.
inline double samples_over_fewest(double batch, double critical) {
  return 1 + batch / critical;
}

/// The result of one run: the iterations at which it reached the target, or at which it ended without reaching it.
struct LawObservation {
  double x = 1;
  double iterations = 1;
  bool is_censored = false;
};

/// Holds parameters in the logarithm: saturating (log S_min, log S_min x_c), linear (log S_0, log S_0 c), power (log
/// S_1, p).
struct Law {
  LawKind kind = LawKind::saturating;
  Eigen::Vector2d parameters = Eigen::Vector2d::Zero();
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();  ///< of the parameters
  double spread = 0;                                     ///< standard deviation of a run's log iterations
  double degrees = 1;                                    ///< degrees of freedom of the spread
  Deviations deviations;                                 ///< deviations of cells from this law

  double log_iterations(double x) const;
  /// Includes the deviation predicted from neighbouring cells: the best estimate at x.
  double expected_log_iterations(double x) const;
  /// d log_iterations / d parameters.
  Eigen::Vector2d gradient(double x) const;
};

/// Expected iterations with the interval that contains a new run with probability `coverage` (Student's t, in the
/// logarithm). Neighbouring cells do not narrow it, so it does not depend on assumptions about what cells share.
struct IterationsBound {
  double iterations = 0;
  double low = 0;
  double high = 0;
};
IterationsBound predict(const Law& law, double x, double coverage);

/// Needs at least three runs that reached the target, at two or more x. Throws std::invalid_argument.
Law fit_law(LawKind kind, const std::vector<LawObservation>& runs);

}  // namespace lockstep::sim::convergence
