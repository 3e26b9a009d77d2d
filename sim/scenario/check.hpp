#pragma once
// What a scenario's parts must keep together, whoever made it: a file, a job in words, a point of a plan, a record.
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

struct [[nodiscard]] ScenarioProblem {
  std::string pointer;  ///< in the scenario's file
  std::string wrong;
  std::string allowed;  ///< may be empty
};

/// The first problem, in the order of the file; nothing: the scenario can be predicted at all its GPU counts.
std::optional<ScenarioProblem> find_problem(const Scenario& scenario);

/// The same of the object "workers" alone, at a number of GPUs, whatever the scenario's algorithm.
std::optional<ScenarioProblem> find_problem(const WorkersSpec& workers, int gpus, const Scenario& scenario);

/// Throws InputError with the first problem: "NAME: /pointer: what is wrong; what is allowed".
void check(const Scenario& scenario);

}  // namespace lockstep::sim::scenario
