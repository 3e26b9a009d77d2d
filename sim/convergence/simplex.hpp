#pragma once
// Nelder and Mead's simplex search for the minimum of a smooth function of few variables, without derivatives.
#include <Eigen/Core>
#include <functional>

#include "sim/modules.hpp"

namespace lockstep::sim::convergence {

/// Minimises from `start` with initial steps of `step`. Ends when the simplex is smaller than 1e-9, or after 4000
/// evaluations.
Eigen::VectorXd minimise(const std::function<double(const Eigen::VectorXd&)>& function, const Eigen::VectorXd& start,
                         double step);

}  // namespace lockstep::sim::convergence
