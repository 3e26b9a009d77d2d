#pragma once
// Student's t distribution.

namespace lockstep {

/// Quantile of Student's t (Cornish-Fisher expansion to fourth order; 1 % off at 3 degrees of freedom).
double student_t_quantile(double probability, double degrees);

}  // namespace lockstep
