#pragma once
// Converts the options for money and time to members of the plan; only sim/job_plan includes this file.
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim::job_plan {

/// A GPU of the plan: its id, and its name in the clusters.
struct PricedGpu {
  std::string id, name;
};

/// Returns the plan's "prices"; null if no price is given.
Json job_prices(const JobPlan& words, const std::vector<PricedGpu>& gpus, const Catalogue& catalogue);
/// Returns the plan's "energy"; null if it is not requested.
Json job_energy(const JobPlan& words);
/// Returns the plan's "failures"; null if they are not requested.
Json job_failures(const JobPlan& words);
/// Returns a line for each member of the object that the user did not give: " restart 15 min (published: ...)".
std::string failures_text(const Json& failures);
/// Returns the plan's "objective".
Json job_objective(const JobPlan& words);

}  // namespace lockstep::sim::job_plan
