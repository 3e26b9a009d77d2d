#pragma once
// Laws of how many iterations (parameter updates) training takes to a target, in one variable x, and their fits to runs
// of which some did not reach it.
//
//   saturating   S_min (1 + x_c / x)   S-SGD by the images of an update, with the critical batch x_c (McCandlish et al.
//                                      2018, eq. 2.11: far below it twice the batch halves the updates, far above it
//                                      nothing is won); averaging algorithms by their learners
//   linear       S_0 (1 + c x)         stale gradients by their age in updates
//   power        S_1 x^p               tau, iterations between synchronisations
//
// A run's iterations scatter about the law by a normal in their logarithm. A run that was cut off at T iterations
// counts by the probability that it takes longer than T (a Tobit model): maximum likelihood over the two parameters and
// the spread, with a wide normal prior (a factor of e^3 about the first guess) that keeps what the runs do not
// determine finite. A censored run is neither dropped nor taken to have reached the target.
#include <Eigen/Core>
#include <string>
#include <vector>

#include "sim/convergence/deviation.hpp"

namespace lockstep::sim::convergence {

enum class LawKind { saturating, linear, power };
std::string to_string(LawKind kind);

/// What one run tells: iterations at which it reached the target, or at which it ended without.
struct LawObservation {
  double x = 1;
  double iterations = 1;
  bool is_censored = false;
};

/// Parameters in the logarithm: saturating (log S_min, log S_min x_c), linear (log S_0, log S_0 c), power (log S_1, p).
struct Law {
  LawKind kind = LawKind::saturating;
  Eigen::Vector2d parameters = Eigen::Vector2d::Zero();
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();  ///< of the parameters
  double spread = 0;                                     ///< of log iterations of a run, one standard deviation
  double degrees = 1;                                    ///< of freedom that the spread was estimated with
  Deviations deviations;                                 ///< of the cells from it

  double log_iterations(double x) const;
  /// The same with what neighbouring cells deviate by: the best guess at x.
  double expected_log_iterations(double x) const;
  /// d log_iterations / d parameters.
  Eigen::Vector2d gradient(double x) const;
};

/// Expected iterations with the interval that holds a new run with probability `coverage` (Student's t, in the
/// logarithm). The interval is as wide as without neighbours: it rests on no assumption of what cells share.
struct IterationsBound {
  double iterations = 0;
  double low = 0;
  double high = 0;
};
IterationsBound predict(const Law& law, double x, double coverage);

/// Needs runs that reached the target at two or more x, three of them in all. Throws std::invalid_argument.
Law fit_law(LawKind kind, const std::vector<LawObservation>& runs);

}  // namespace lockstep::sim::convergence
