#pragma once
// The loss of a job on text: the law that predicts it, tokens to a loss, and loss after tokens.
//
// A law holds only for models that are trained from scratch to predict the next token. Fine-tuning, masked language
// models and models of images have no law: the user gives their tokens or epochs.
#include <optional>
#include <string>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// The catalogue's default law, an id in scenarios/catalogue/loss_laws.json.
inline constexpr const char* kDefaultLossLaw = "chinchilla";

/// Returns a law by its name in the catalogue, or from a file (*.json). Empty: the default. Throws InputError.
LossLaw find_loss_law(const std::string& name, const Catalogue& catalogue);
/// Returns the question's law. A measured critical batch replaces the law's for every number of tokens. If it is
/// a number, its error is assumed; a file states its error (measured_critical.hpp).
LossLaw loss_law_of(const JobQuestion& question, const Catalogue& catalogue);

/// Returns the model with its parameters counted as for the law. A mixture of experts is between its active and all
/// parameters.
LossModel loss_model_of(const model::Graph& graph, const std::string& id, const LossLaw& law);

/// Returns none for fine-tuning, and for models that do not predict the next token. Throws InputError for unknown laws.
std::optional<JobLoss> job_loss_of(const JobQuestion& question, const Job& job, const Scenario& scenario,
                                   const Catalogue& catalogue);
/// True for adapters (LoRA) and for training all weights of a model that was trained before.
bool is_fine_tuning(const Job& job);
/// Returns the reason why the job has no law of the loss, for an error message.
std::string why_no_loss(const Job& job, const Scenario& scenario);

/// Returns the loss after `tokens`; none if these are so few that the law exceeds the loss of an untrained model.
std::optional<BoundedValue> loss_after(const JobLoss& loss, double tokens, double batch_tokens);

/// Returns the tokens of a training that takes `flops` floating-point operations in forward and backward passes,
/// without recomputation.
double tokens_of_flops(const model::Graph& graph, double flops);

/// Returns the tokens that reach the question's loss on `gpus` GPUs, by the convergence profile of `scenario`.
BoundedValue tokens_to_loss(const Scenario& scenario, int gpus, double global_batch);

/// Returns a sentence about the loss, tokens, batch and law; empty if the question does not concern tokens.
std::string job_loss_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
