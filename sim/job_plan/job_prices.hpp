#pragma once
// Inside sim/job_plan: what a plan in words says of money and time.
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim {

/// A GPU that a plan is about: by its id, and by the name that its clusters give it.
struct PricedGpu {
  std::string id, name;
};

/// The plan's "prices"; null where there are none.
Json job_prices(const JobPlan& words, const std::vector<PricedGpu>& gpus, const Catalogue& catalogue);
/// The plan's "objective".
Json job_objective(const JobPlan& words);

}  // namespace lockstep::sim
