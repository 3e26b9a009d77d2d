#pragma once
// Checks the rules that the parts of a scenario must satisfy together. A file, the command line, a plan or a record may
// have made the scenario.
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

struct [[nodiscard]] ScenarioProblem {
  std::string pointer;  ///< in the scenario's file
  std::string wrong;
  std::string allowed;  ///< may be empty
};

/// The first problem, in the order of the file. None: the scenario can be predicted at all its numbers of GPUs.
std::optional<ScenarioProblem> find_problem(const Scenario& scenario);

/// Finds a number of GPUs whose iterations to the target the convergence profile has no law for, or that is too far
/// from its runs. Only the time to accuracy cannot be predicted then.
std::optional<ScenarioProblem> find_uncovered_training(const Scenario& scenario);

/// Finds the first problem of the object "workers" at `gpus` GPUs. Does not consider the scenario's algorithm.
std::optional<ScenarioProblem> find_problem(const WorkersSpec& workers, int gpus, const Scenario& scenario);

/// Throws InputError with the first problem: "NAME: /pointer: what is wrong; what is allowed".
void check(const Scenario& scenario);

}  // namespace lockstep::sim::scenario
