#include "sim/job_prediction/job_loss.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/model/transformer/spec.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/job_prediction/batch_ramp.hpp"
#include "sim/loss/law_json.hpp"
#include "sim/scenario/convergence_read.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr double kMeasuredDeviation = 0.2;  // assumed standard deviation of the logarithm of a measured critical batch

bool predicts_next_token(const model::Graph& graph) {
  return graph.transformer && graph.tokens > 0 && graph.transformer->spec.causal &&
         graph.transformer->spec.decoder_layers == 0 &&
         graph.transformer->spec.objective == model::Objective::next_token;
}

std::string range_text(const BoundedValue& estimate) {
  return format_count(estimate.middle) + " (" + format_count(estimate.low) + " to " +
         (std::isinf(estimate.high) ? std::string("any number") : format_count(estimate.high)) + ")";
}

std::string law_text(const JobLoss& loss, double minimal) {
  std::string text = "Law of the loss: " + loss.law.name + ", " + loss.law.data +
                     "; other data and vocabularies shift the loss (--loss-law FILE takes one of your own runs).\n";
  for (const std::string& note : beyond_range(loss.law, loss.model.parameters.middle, minimal))
    text += "The law is extrapolated: " + note + ".\n";
  if (loss.model.parameters.low < loss.model.parameters.high)
    text += "Its parameters: " + format_count(loss.model.parameters.middle) +
            ", the geometric mean of the active and all of them; the interval reaches from one to the other.\n";
  return text;
}

}  // namespace

LossLaw find_loss_law(const std::string& name, const Catalogue& catalogue) {
  if (is_law_file(name)) return load_loss_law(name);
  if (const LossLawEntry* entry = catalogue.loss_laws.named(name.empty() ? kDefaultLossLaw : name)) return entry->law;
  std::vector<std::string> ids;
  for (const LossLawEntry& entry : catalogue.loss_laws) ids.push_back(entry.id);
  throw InputError("--loss-law " + in_quotes(name) + ": no law of that name is known; allowed: " + joined(ids) +
                   ", or a file of simulate loss --fit");
}

LossLaw loss_law_of(const JobQuestion& question, const Catalogue& catalogue) {
  LossLaw law = find_loss_law(question.loss_law, catalogue);
  if (question.critical_batch_tokens == 0) return law;
  for (const int parameter : {kLogCritical, kCriticalExponent}) {
    law.covariance.row(parameter).setZero();
    law.covariance.col(parameter).setZero();
  }
  law.parameters[kLogCritical] = std::log(question.critical_batch_tokens);
  law.parameters[kCriticalExponent] = 0;
  const double deviation =
      question.critical_batch_deviation > 0 ? question.critical_batch_deviation : kMeasuredDeviation;
  law.covariance(kLogCritical, kLogCritical) = deviation * deviation;
  law.critical_source = question.critical_batch_source.empty() ? "--critical-batch" : question.critical_batch_source;
  return law;
}

LossModel loss_model_of(const model::Graph& graph, const std::string& id, const LossLaw& law) {
  const model::TransformerSpec& spec = graph.transformer->spec;
  const model::ParameterParts parts = model::parameters_of(spec);
  double all = static_cast<double>(graph.parameter_count());
  if (law.counts == ParameterCount::without_embeddings) all -= static_cast<double>(parts.embeddings + parts.output);
  const double experts = static_cast<double>(parts.experts);
  const double at_work = spec.mixture.count > 0 ? static_cast<double>(spec.mixture.active) / spec.mixture.count : 1;
  LossModel model;
  model.id = id;
  model.parameters = effective_parameters(all - experts * (1 - at_work), all);
  model.sequence_tokens = graph.tokens;
  model.vocabulary = spec.vocabulary;
  return model;
}

bool is_fine_tuning(const Job& job) {
  return !job.split.task.empty() || job.split.has("lora_rank");
}

std::string why_no_loss(const Job& job, const Scenario& scenario) {
  if (is_fine_tuning(job)) return "fine-tuning has no law of the loss; allowed: --tokens or --samples";
  if (scenario.model.tokens == 0)
    return scenario.model.title + " does not train on text; allowed: --epochs or --samples";
  return "laws of the loss are of models that predict the next token, which " + scenario.model.title +
         " is not; allowed: --tokens or --samples";
}

std::optional<JobLoss> job_loss_of(const JobQuestion& question, const Job& job, const Scenario& scenario,
                                   const Catalogue& catalogue) {
  if (!question.loss_law.empty()) (void)find_loss_law(question.loss_law, catalogue);
  if (is_fine_tuning(job) || !predicts_next_token(scenario.model)) return std::nullopt;
  JobLoss loss{loss_law_of(question, catalogue), {}};
  loss.model = loss_model_of(scenario.model, scenario.model.name, loss.law);
  return loss;
}

std::optional<BoundedValue> loss_after(const JobLoss& loss, double tokens, double batch_tokens) {
  const BoundedValue reached = predict_loss(loss.law, loss.model, tokens, batch_tokens, kLossCoverage);
  if (reached.middle >= untrained_loss(loss.model)) return std::nullopt;
  return BoundedValue{reached.middle, reached.low, std::min(reached.high, untrained_loss(loss.model))};
}

double tokens_of_flops(const model::Graph& graph, double flops) {
  return flops * graph.tokens / (kTrainingFlopPerMac * static_cast<double>(graph.macs()));
}

BoundedValue tokens_to_loss(const Scenario& scenario, int gpus, double global_batch) {
  const IterationsEstimate iterations =
      iterations_to_target(*scenario.convergence, training_setting(scenario, gpus), global_batch, 0);
  const double tokens = global_batch * scenario.model.tokens;
  const auto& bound = iterations.bound;
  return {bound.iterations * tokens, bound.low * tokens, bound.high * tokens};
}

std::string job_loss_text(const JobPrediction& predicted) {
  const JobQuestion& question = predicted.question;
  if (question.tokens > 0 && is_fine_tuning(predicted.job))
    return "The loss is not predicted: laws of the loss are of models that are trained from the beginning, not of "
           "fine-tuning.\n";
  if (!predicted.loss || (question.tokens == 0 && question.loss == 0)) return "";
  const JobLoss& loss = *predicted.loss;
  const JobRow& row = predicted.largest();
  const Workload& run = row.samples_per_s.task.target.front();
  const double global_batch = run.samples() * run.accumulation;
  const double batch_tokens = global_batch * run.scenario.model.tokens;
  if (question.loss > 0) {
    const BoundedValue tokens =
        tokens_with_ramp(predicted, row, batch_tokens, tokens_to_loss(run.scenario, row.gpus, global_batch));
    const double minimal = minimal_tokens_to(loss.law, loss.model.parameters.middle, question.loss);
    return "Loss " + short_number(question.loss) + " takes " + range_text(tokens) + " tokens " +
           (row.ramp.empty() ? "at a batch of " + format_count(batch_tokens) + " tokens" : "with the batch ramp") +
           "; small batches take " + format_count(minimal) + ", the critical batch is " +
           format_count(critical_batch(loss.law, minimal)) + " tokens.\n" + law_text(loss, minimal);
  }
  const double batch = batch_for_loss(predicted, row, question.tokens, batch_tokens);
  const std::optional<BoundedValue> after = loss_after(loss, question.tokens, batch);
  if (!after)
    return "The loss is not predicted: " + format_count(question.tokens) + " tokens are so few that the law " +
           loss.law.id + " exceeds " + untrained_loss_text(loss.model) + "; give more --tokens.\n";
  const BoundedValue& reached = *after;
  return "Loss after " + format_count(question.tokens) + " tokens: " + formatted("%.3f", reached.middle) + " (" +
         formatted("%.3f", reached.low) + " to " + formatted("%.3f", reached.high) + ") nats per token.\n" +
         law_text(loss, minimal_tokens(loss.law, question.tokens, batch));
}

}  // namespace lockstep::sim::job_prediction
