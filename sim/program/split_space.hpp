#pragma once
// Lists the splits of a transformer over a number of GPUs that are worth predicting.
//
//   `tensor`          Divisors of a node's GPUs up to kMostTensorRanks, with sequence parallelism, which sends no more
//                     bytes and needs less memory. If none of these splits fits, more ranks (has_wide_tensor).
//   `context`         Powers of two that leave a rank at least kLeastTokensOfRank of a sequence.
//   `expert`          Divisors of the number of experts up to kMostExpertRanks.
//   `pipeline`        Divisors of the remaining GPUs, with at least one layer per stage.
//   `micro_batch`     Powers of two that divide a replica's share of the global batch, or the one that makes the given
//                     number of micro-batches.
//   `virtual_stages`  Divisors of a stage's layers, if interleaving allows the number of micro-batches. If the stages
//                     do not divide the layers, embedding and output count as a layer each (split_job.hpp).
//   `sharding`        None and each stage, over all context and data ranks or over those of a node.
//   `recompute`       None, selective, full.
//
// Only values that the software supports are tried (SplitAbilities). Fixed keys keep their given values, even if these
// rules exclude them. The limits come from published results: among 212 results with context ranks, 27 leave a rank
// fewer tokens, and none has more expert ranks (scenarios/published/suites).
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/scenario/split_abilities.hpp"

namespace lockstep::sim::program {

constexpr int kLeastTokensOfRank = 4096, kMostTensorRanks = 8, kMostExpertRanks = 64, kMostWideTensorRanks = 64;

struct SplitQuestion {
  ParallelSpec stated;          ///< includes a global batch
  std::set<std::string> fixed;  ///< keys of "parallel" that keep their given value
  SplitAbilities abilities{};
  int accumulation = 0;          ///< micro-batches of a replica per iteration; 0: any number
  bool has_wide_tensor = false;  ///< tries tensor ranks over several nodes instead, up to kMostWideTensorRanks

  bool is_fixed(const std::string& key) const { return fixed.count(key) > 0; }
};

/// Returns the question of a scenario. Only the batch, the order, and keys that the rules above do not vary are
/// fixed.
SplitQuestion all_splits(const Scenario& scenario, int gpus);

/// Returns why splits_of() is empty, after "no split over 8 GPUs": the given value without which it is not.
std::string why_no_split(const Scenario& scenario, int gpus, const SplitQuestion& question);

/// Lists valid splits over `gpus` GPUs with `data` set, even if they do not fit into memory. Splits that differ only in
/// recomputation are listed once, with the given `recompute`; recomputations_of() lists the values to try. Throws
/// InputError if the model is not a transformer described by numbers.
std::vector<ParallelSpec> splits_of(const Scenario& scenario, int gpus, const SplitQuestion& question);

/// Lists recomputations from the one that takes least time to the one that needs least memory.
std::vector<RecomputeChoice> recomputations_of(const SplitQuestion& question);

/// Returns a text such as "selective (act, layernorm)".
std::string recompute_text(const ParallelSpec& spec);
/// Returns "tensor 8, pipeline 16, 2 virtual stages, data 128, zero1, selective recomputation, micro-batch 1".
std::string split_text(const ParallelSpec& spec);

}  // namespace lockstep::sim::program
