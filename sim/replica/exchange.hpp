#pragma once
// Inside sim/replica: exchanges gradients after the last backward pass and weights before the first forward pass,
// bucket by bucket.
#include <vector>

#include "sim/replica/passes.hpp"

namespace lockstep::sim::replica {

/// The parts of a chunk that are exchanged together: one or several blocks, or the parameters before or after the
/// blocks.
struct ExchangeBucket {
  RankParameters parameters;
  double from_start_s = 0;  ///< of the chunk's pass, when the gradients are there or the weights are needed
};

/// Combines blocks until their bytes reach `bucket_bytes` (0: each block alone).
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

/// True if first and last stage have a copy of the embedding table each, whose gradients are summed.
bool exchanges_tied_embedding(const SplitJob& job);

}  // namespace lockstep::sim::replica
