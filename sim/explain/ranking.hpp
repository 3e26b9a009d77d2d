#pragma once
// Ranks causes by their probability, and shows the measurements that support or contradict each one.
#include <optional>
#include <string>
#include <vector>

#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

/// Times of all observations, in their order, with one variant of a cause.
struct VariantTimes {
  std::string text;
  std::vector<Expected> expected;
  double gain = 1;  ///< RankedCause::gain
};

struct CandidateCause {
  CauseId id = CauseId::normal;
  std::vector<VariantTimes> variants;  ///< at least one
  std::optional<NcclStatement> statement{};
};

/// Returns the causes by probability, the largest first. `candidates` must include "as expected", and there must be at
/// least one observation.
std::vector<RankedCause> rank_causes(const std::vector<Observation>& observations,
                                     const std::vector<CandidateCause>& candidates);

}  // namespace lockstep::sim::explain
