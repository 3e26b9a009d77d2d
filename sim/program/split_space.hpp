#pragma once
// Every split of a transformer over a number of GPUs that is worth asking for.
//
//   tensor          divisors of a node's GPUs up to kMostTensorRanks, with sequence parallelism, which takes no more bytes
//                   and less memory
//   context         powers of two that leave a rank kLeastTokensOfRank of a sequence
//   expert          divisors of the number of experts up to kMostExpertRanks
//   pipeline        divisors of the GPUs that are left, up to a layer for each stage
//   micro_batch     powers of two that divide a replica's share of the global batch
//   virtual_stages  divisors of a stage's layers, where interleaving takes the micro-batches; layers that the stages do not
//                   divide are dealt out with embedding and output as a layer each (split_job.hpp)
//   sharding        none and each stage, over all context and data ranks or over those of a node
//   recompute       none, selective, full
//
// of which only what the software can do (SplitAbilities). What is fixed is tried as it is stated, also where these rules would
// not try it. The limits are those of published results: of 212 with context ranks 27 leave a rank fewer tokens, and none has
// more expert ranks (scenarios/published/suites).
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/scenario/split_abilities.hpp"

namespace lockstep::sim::program {

constexpr int kLeastTokensOfRank = 4096, kMostTensorRanks = 8, kMostExpertRanks = 64;

struct SplitQuestion {
  ParallelSpec stated;          ///< with a global batch
  std::set<std::string> fixed;  ///< keys of "parallel" that stay as stated
  SplitAbilities abilities{};

  bool is_fixed(const std::string& key) const { return fixed.count(key) > 0; }
};

/// What is asked by a scenario: all but batch, order and the rest that the rules above do not vary.
SplitQuestion all_splits(const Scenario& scenario, int gpus);

/// Valid on so many GPUs, `data` filled in, whether they fit into memory or not. Splits that differ in recomputation alone
/// are one, with `recompute` as stated: recomputations_of() are what may be tried of it. Throws InputError where the model
/// is no transformer by its numbers.
std::vector<ParallelSpec> splits_of(const Scenario& scenario, int gpus, const SplitQuestion& question);

/// From what takes least time to what takes least memory.
std::vector<RecomputeChoice> recomputations_of(const SplitQuestion& question);

/// "selective (act, layernorm)".
std::string recompute_text(const ParallelSpec& spec);
/// "tensor 8, pipeline 16, 2 virtual stages, data 128, zero1, selective recomputation, micro-batch 1".
std::string split_text(const ParallelSpec& spec);

}  // namespace lockstep::sim::program
