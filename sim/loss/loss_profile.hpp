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

/// If only a number of parameters is given: the vocabulary of Gemma 3, the largest in use (assumed).
constexpr double kMostVocabulary = 262144;

/// The trained model in the terms of a law of the loss.
struct LossModel {
  std::string id;
  BoundedValue parameters;  ///< N as the law counts it; low < high for a mixture of experts
  double sequence_tokens = 0;
  double vocabulary = kMostVocabulary;
};

/// Returns the loss of an untrained model, for which all tokens are equally likely: ln(vocabulary) nats per token. No
/// training starts above it, but a law goes to infinity as tokens go to zero.
double untrained_loss(const LossModel& model);
/// Returns text such as "11.76 nats, the loss of an untrained model with a vocabulary of 128,256".
std::string untrained_loss_text(const LossModel& model);

/// Throws InputError if, by that law, the model does not reach the loss with any number of tokens, or if the loss is
/// not below untrained_loss().
convergence::ConvergenceProfile profile_to_loss(const LossLaw& law, const LossModel& model, double loss);

/// Like predict_loss() of the law, including the bounds of N.
BoundedValue predict_loss(const LossLaw& law, const LossModel& model, double tokens, double batch_tokens,
                          double coverage);

/// Returns a name such as "loss 2.2".
std::string loss_target_name(double loss);

}  // namespace lockstep::sim::loss
