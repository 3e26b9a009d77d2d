#pragma once
// Inside sim/replica: gradients after the last backward pass, weights before the first forward pass, bucket by bucket.
#include <vector>

#include "sim/replica/passes.hpp"

namespace lockstep::sim::replica {

/// The parts of a chunk that are exchanged together: one or several blocks, or the parameters before or after the
/// blocks.
struct ExchangeBucket {
  RankParameters parameters;
  double from_start_s = 0;  ///< of the chunk's pass, when the gradients are there or the weights are needed
};

/// Blocks whose bytes together reach `bucket_bytes` (0: each alone).
struct ExchangeRule {
  double bucket_bytes = 0;
  double launch_s = 0;  ///< of each exchange
};

/// A chunk's gradients in the order of its backward pass. `blocks_s`: of each block's backward pass, or of its weights'
/// gradients.
std::vector<ExchangeBucket> gradient_buckets(const SplitJob& job, const ModelPart& part,
                                             const std::vector<double>& blocks_s, double before_blocks_s,
                                             const ExchangeRule& rule);
/// A chunk's weights in the order of its forward pass.
std::vector<ExchangeBucket> weight_buckets(const SplitJob& job, const ModelPart& part,
                                           const std::vector<double>& blocks_s, double before_blocks_s,
                                           const ExchangeRule& rule);

/// First and last stage have a table of words each, whose gradients are added up.
bool exchanges_tied_embedding(const SplitJob& job);

/// Table of words, output's matrix and what else is no block's.
RankParameters parameters_beside_blocks(const SplitJob& job, const ModelPart& part);
/// Returns the trained ones among them; with adapters there are none.
RankParameters trained_beside_blocks(const SplitJob& job, const ModelPart& part);

}  // namespace lockstep::sim::replica
