#pragma once
// Inside sim/replica: computes the time of a block's passes, and the passes of a chunk.
#include <algorithm>

#include "sim/replica/iteration.hpp"

namespace lockstep::sim::replica {

/// An exchange of weights or gradients between replicas. While it runs, passes compute more slowly by a factor s
/// (SplitLinks::slowdown()).
struct StateSeconds {
  double seconds = 0;
  double held_s = 0;  ///< by which it delays passes that compute all the time that it runs: (1 - 1/s) times seconds

  StateSeconds& operator+=(const StateSeconds& more);
  /// Returns the delay of passes that compute for the first `seconds` of it.
  double delay_s(double overlapped_s) const { return seconds > 0 ? held_s / seconds * overlapped_s : 0; }
};

StateSeconds operator*(double times, StateSeconds exchange);

struct PassSeconds {
  double compute_s = 0, tensor_s = 0, context_s = 0, expert_s = 0;
  StateSeconds beside;  ///< gathers sharded weights and scatters gradients, overlapped with the pass
  double alone_s = 0;   ///< likewise, while nothing is computed

  double waited_s() const { return tensor_s + context_s + expert_s + alone_s; }
  double total_s() const;
  /// The seconds by which gathering weights and scattering gradients lengthens the pass.
  double sharding_s() const { return total_s() - (compute_s + tensor_s + context_s + expert_s); }
};

/// Seconds of computing in a pass, and the parts of it that communication can overlap: attention and GEMM.
struct PieceSeconds {
  double compute_s = 0, attention_s = 0, products_s = 0;
  double waiting_s = 0;  ///< part of compute_s in which the GPU waits for the processor that launches kernels
};

/// Seconds of computing that communication can overlap: of attention with the ring of keys and values, of GEMMs with
/// tensor exchanges.
struct OverlapSeconds {
  double attention_s = 0, products_s = 0;
};

/// Returns (c-1)/c of attention if there are rings, and (t-1)/t of GEMMs if there are tensor exchanges. Each is cut into
/// as many pieces as ranks. During the first piece nothing can be sent yet, or nothing has arrived yet. While the GPU
/// waits for its processor, a transfer goes on as well. Therefore, faster kernels on a GPU that waits hide no less.
OverlapSeconds overlap_of(const ParallelSpec& spec, const PieceSeconds& piece, bool has_rings, bool has_products);

/// Returns how much longer a pass takes because an overlapping exchange of experts, `expert_s` long, holds multiprocessors.
double slowed_by_experts_s(const ParallelSpec& spec, double expert_s);

/// Computes the times of the model's pieces under the conditions of an iteration.
class Passes {
 public:
  Passes(const SplitJob& job, const RankSeconds& seconds, const SplitLinks& links, double compute_factor,
         const Perturbation& perturbation)
      : job_(job),
        sharded_once_(job.spec),
        seconds_(seconds),
        links_(links),
        factor_(compute_factor),
        perturbation_(perturbation) {
    sharded_once_.sharding = ShardingStage::zero1;
    find_kinds();
  }

  const PassSeconds& forward(int block) const { return passes_of(block).forward; }
  /// The backward pass that computes the gradients of inputs and weights.
  const PassSeconds& backward(int block) const { return passes_of(block).backward; }
  /// If the schedule splits the backward pass: the inputs' gradients, then the weights', which are scattered during
  /// that pass.
  const PassSeconds& input_gradient(int block) const { return passes_of(block).input_gradient; }
  const PassSeconds& weight_gradient(int block) const { return passes_of(block).weight_gradient; }
  PassSeconds embedding_forward() const;
  PassSeconds embedding_backward() const;
  PassSeconds loss_forward() const;
  PassSeconds loss_backward() const;
  /// Return the time to gather a block's weights, and to scatter its gradients.
  StateSeconds gather(const RankParameters& parameters) const {
    return exchange_s(parameters, TrafficKind::all_gather);
  }
  StateSeconds scatter(const RankParameters& parameters) const {
    return exchange_s(parameters, TrafficKind::reduce_scatter);
  }
  /// Adds gathering or scattering of shards to the pass, overlapped with it or not.
  void add_shards(PassSeconds& pass, const StateSeconds& exchange) const;
  /// Returns the time to exchange gradients between all replicas once, by the kind of sharding.
  StateSeconds exchange(const RankParameters& parameters) const;
  double message_s() const;

 private:
  struct BlockPasses {
    PassSeconds forward, backward, input_gradient, weight_gradient;
  };
  // A kind of blocks; equal blocks take equally long.
  struct BlockKind {
    int first;
    BlockPasses passes;
  };
  void find_kinds();
  const BlockPasses& passes_of(int block) const {
    return kinds_[kind_of_block_[static_cast<std::size_t>(block)]].passes;
  }
  PassSeconds make_forward(int block) const;
  PassSeconds make_backward(int block) const;
  PassSeconds make_input_gradient(int block) const;
  PassSeconds make_weight_gradient(int block) const;
  PassSeconds pass(const PieceSeconds& piece, const TrafficList& traffic) const;
  StateSeconds scattered(int block) const;
  StateSeconds gathered_backward(int block) const;
  /// Returns the time of one reduce-scatter or all-gather of the sharded state.
  StateSeconds exchange_s(const RankParameters& parameters, TrafficKind kind) const;
  StateSeconds time_of(const Traffic& traffic) const;

  const SplitJob& job_;
  ParallelSpec sharded_once_;  // gathers and scatters its state once in an iteration
  const RankSeconds& seconds_;
  const SplitLinks& links_;
  double factor_;
  Perturbation perturbation_;
  std::vector<BlockKind> kinds_;
  std::vector<std::size_t> kind_of_block_;
};

}  // namespace lockstep::sim::replica
