#pragma once
// Inside sim/job_plan: what a plan in words says of money and time.
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim::job_plan {

/// A GPU that a plan is about: by its id, and by the name that its clusters give it.
struct PricedGpu {
  std::string id, name;
};

/// The plan's "prices"; null where there are none.
Json job_prices(const JobPlan& words, const std::vector<PricedGpu>& gpus, const Catalogue& catalogue);
/// The plan's "energy"; null where none is asked for.
Json job_energy(const JobPlan& words);
/// The plan's "failures"; null where none are asked for.
Json job_failures(const JobPlan& words);
/// A line for each value of the object that is not given: "  restart 15 min (published: ...)".
std::string failures_text(const Json& failures);
/// The plan's "objective".
Json job_objective(const JobPlan& words);

}  // namespace lockstep::sim::job_plan
