#pragma once
// The loss of a job on text: the law that predicts it, tokens to a loss, loss after tokens.
//
// Laws hold for models that are trained from scratch to predict the next token. Fine-tuning, masked language models and
// images have none: their tokens or epochs are given.
#include <optional>
#include <string>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Id of the law in scenarios/catalogue/loss_laws.json that is used if none is named.
inline constexpr const char* kDefaultLossLaw = "chinchilla";

/// A law by its name in the catalogue, or from a file (*.json). Empty: the default. Throws InputError.
LossLaw find_loss_law(const std::string& name, const Catalogue& catalogue);
/// The question's law. If the question has a measured critical batch, it replaces the law's: the same for all tokens,
/// with an error of a fifth (assumed).
LossLaw loss_law_of(const JobQuestion& question, const Catalogue& catalogue);

/// A model as a law counts its parameters. A mixture of experts lies between its active and all parameters.
LossModel loss_model_of(const model::Graph& graph, const std::string& id, const LossLaw& law);

/// None for fine-tuning, and for models that do not predict the next token. Throws InputError for an unknown law.
std::optional<JobLoss> job_loss_of(const JobQuestion& question, const Job& job, const Scenario& scenario,
                                   const Catalogue& catalogue);
/// Why a job has no law of the loss, for an error.
std::string why_no_loss(const Job& job, const Scenario& scenario);

/// Tokens of a training of so many floating-point operations, forward and backward pass, without recomputation.
double tokens_of_flops(const model::Graph& graph, double flops);

/// Tokens to the question's loss at a number of GPUs, by the convergence profile of `scenario`.
BoundedValue tokens_to_loss(const Scenario& scenario, int gpus, double global_batch);

/// A sentence about the loss, tokens, batch and law; empty if the question is not about tokens.
std::string job_loss_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
