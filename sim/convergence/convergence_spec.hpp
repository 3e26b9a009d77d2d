#pragma once
// The convergence that a scenario gives: one of epochs, a table of iterations by workers, or a profile.
#include <memory>
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::convergence {

struct ConvergenceProfile;  // profile.hpp includes Eigen, which most files need not compile

/// The number of updates if each averages the gradients of `workers` workers.
struct IterationsAt {
  double workers;
  double iterations;
};

struct ConvergenceSpec {
  std::string target;  ///< "75.8 % top-1"
  double train_samples = 0;
  double epochs = 0;                                            ///< 0: iterations_by_workers or the profile is given
  std::vector<IterationsAt> iterations_by_workers = {};         ///< ascending workers; overrides epochs
  std::shared_ptr<const ConvergenceProfile> profile = nullptr;  ///< overrides both; its target is `target`
};

}  // namespace lockstep::sim::convergence
