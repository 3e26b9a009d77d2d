#pragma once
// A loss as the target of a training: the convergence profile of one model that a law of the loss implies.
//
// D = D_min (1 + B / B_crit) is the saturating law of synchronous SGD (convergence/law.hpp). With x sequences per
// update, its parameters are:
//   `iterations_least = D_min / B_crit,  critical = B_crit / tokens of a sequence`.
// Jobs, scenarios, plans and searches over batches thus treat a loss like an accuracy.
#include "sim/convergence/profile.hpp"
#include "sim/loss/loss_law.hpp"

namespace lockstep::sim::loss {

/// The trained model in the terms of a law of the loss.
struct LossModel {
  std::string id;
  BoundedValue parameters;  ///< N as the law counts it; low < high for a mixture of experts
  double sequence_tokens = 0;
};

/// Throws InputError if, by that law, the model does not reach the loss with any number of tokens.
convergence::ConvergenceProfile profile_to_loss(const LossLaw& law, const LossModel& model, double loss);

/// Like predict_loss() of the law, including the bounds of N.
BoundedValue predict_loss(const LossLaw& law, const LossModel& model, double tokens, double batch_tokens,
                          double coverage);

/// Returns a name such as "loss 2.2".
std::string loss_target_name(double loss);

}  // namespace lockstep::sim::loss
