#pragma once
// Inside sim/replica: what a pass of a block takes, and what a chunk's passes are.
#include <algorithm>

#include "sim/replica/iteration.hpp"

namespace lockstep::sim {
inline namespace replica {

struct PassSeconds {
  double compute_s = 0, tensor_s = 0, context_s = 0, expert_s = 0;
  double beside_s = 0;  ///< of weights and gradients that are sharded

  double waited_s() const { return tensor_s + context_s + expert_s; }
  double total_s() const;
  /// Of beside_s, what is longer than the pass.
  double sharding_s() const { return std::max(0.0, beside_s - (compute_s + waited_s())); }
};

/// What the pieces of the model take, in an iteration's conditions.
class Passes {
 public:
  Passes(const SplitJob& job, const RankSeconds& seconds, const SplitLinks& links, double compute_factor,
         const Perturbation& perturbation)
      : job_(job), seconds_(seconds), links_(links), factor_(compute_factor), perturbation_(perturbation) {}

  PassSeconds forward(int block) const;
  PassSeconds backward(int block) const;
  /// Of it, the weights' gradients alone.
  double weight_gradient_s(int block) const {
    return factor_ * seconds_.blocks[static_cast<std::size_t>(block)].weight_gradient_s;
  }
  PassSeconds embedding_forward() const;
  PassSeconds embedding_backward() const;
  PassSeconds loss_forward() const;
  PassSeconds loss_backward() const;
  /// Gathering a block's weights, scattering its gradients.
  double gather_s(const RankParameters& parameters) const;
  double scatter_s(const RankParameters& parameters) const;
  /// Gradients over all replicas, as the sharding has it, once.
  double exchange_s(const RankParameters& parameters) const;
  double message_s() const;

 private:
  PassSeconds pass(double compute_s, double attention_s, const TrafficList& traffic) const;
  double once_s(const RankParameters& parameters, TrafficKind kind) const;

  const SplitJob& job_;
  const RankSeconds& seconds_;
  const SplitLinks& links_;
  double factor_;
  Perturbation perturbation_;
};

}  // namespace replica
}  // namespace lockstep::sim
