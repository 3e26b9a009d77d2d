#pragma once
// A loss as a target of training: the convergence profile that a law of the loss gives for one model.
//
// D = D_min (1 + B / B_crit) is the saturating law of synchronous SGD (convergence/law.hpp), in x sequences of an
// update:
//   `iterations_least = D_min / B_crit,  critical = B_crit / tokens of a sequence`.
// Jobs, scenarios, plans and searches over batches thus treat a loss as they treat an accuracy.
#include "sim/convergence/profile.hpp"
#include "sim/loss/loss_law.hpp"

namespace lockstep::sim::loss {

/// The trained model, as a law of the loss sees it.
struct LossModel {
  std::string id;
  BoundedValue parameters;  ///< N as the law counts it; low < high for a mixture of experts
  double sequence_tokens = 0;
};

/// Throws InputError if the model does not reach the loss by that law with any number of tokens.
convergence::ConvergenceProfile profile_to_loss(const LossLaw& law, const LossModel& model, double loss);

/// predict_loss() with the bounds of N taken in.
BoundedValue predict_loss(const LossLaw& law, const LossModel& model, double tokens, double batch_tokens,
                          double coverage);

/// "loss 2.2"
std::string loss_target_name(double loss);

}  // namespace lockstep::sim::loss
