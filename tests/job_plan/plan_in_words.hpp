#pragma once
// Reads the plan of `plan job` for tests.
#include "sim/job_plan/job_plan.hpp"
#include "tests/plan/small_plans.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

inline sim::PlanSpec plan_of(const sim::JobPlan& words) {
  return sim::read_plan(JsonDocument::parse(sim::read_job_plan(words, catalogue()).plan.dump(), "plan job"));
}

/// Returns the error of a plan.
inline std::string refusal(const sim::JobPlan& words) {
  try {
    (void)plan_of(words);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace lockstep::tests
