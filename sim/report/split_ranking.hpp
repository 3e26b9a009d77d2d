#pragma once
// Writes the result of a search over splits (sim/point/best_splits.hpp).
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::report {

/// The ranking of one variant.
struct RankedVariant {
  std::string variant;
  SplitRanking ranking;
};

/// Returns one ranking per variant and number of GPUs: all splits of the scenario's batch. Throws InputError.
std::vector<RankedVariant> rank_splits(const LoadedScenario& loaded);

/// A line of what was searched, and a row per split.
std::string split_ranking_text(const Scenario& scenario, const SplitRanking& ranking);
/// {"valid", "fitting", "predicted", "splits": [{"parallel", "iteration_s", "samples_per_s", "bubble_fraction", "memory",
/// "tied"}]}
Json split_ranking_json(const Scenario& scenario, const SplitRanking& ranking);
/// Writes the rankings of all variants and numbers of GPUs.
std::string split_rankings_text(const LoadedScenario& loaded, const std::vector<RankedVariant>& rankings);
/// "lockstep/optimisation/1" with {"what": "split", "variant", "gpus"} and these in each of "optimise".
Json split_rankings_json(const LoadedScenario& loaded, const std::vector<RankedVariant>& rankings,
                         const std::vector<std::string>& argv);

}  // namespace lockstep::sim::report
