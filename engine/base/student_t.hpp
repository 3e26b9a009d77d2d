#pragma once
// Student's t distribution.

namespace lockstep {

/// Returns the quantile of Student's t, by a Cornish-Fisher expansion to fourth order (error: 1 % at 3 degrees of
/// freedom).
double student_t_quantile(double probability, double degrees);

}  // namespace lockstep
