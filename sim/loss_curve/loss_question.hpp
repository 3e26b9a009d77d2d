#pragma once
// The questions of `simulate loss`: loss, tokens, days and dollars of training a language model from scratch.
//
// Without a GPU, the law answers alone: loss after tokens, tokens to a loss, the size and tokens of the least loss for so
// many floating-point operations. With one, every candidate (size of model x number of GPUs x batch) is a job, whose rate
// gives days and cost; with a deadline or a budget, each candidate trains as long as these allow.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::loss_curve {

struct LossQuestion {
  JobQuestion job;                            ///< model, GPU, network, software, ...; its `gpus` are compared
  std::string model_family;                   ///< sizes to choose from, instead of the job's model
  double parameters = 0;                      ///< instead of a model, as the law counts them
  std::vector<double> losses, tokens, flops;  ///< at most one of the three is given
  std::vector<double> batch_tokens;           ///< of an update; empty: chosen around the critical batch
  double deadline_s = 0;                      ///< 0: none
  double budget_usd = 0;                      ///< 0: none
  bool has_machine() const { return !job.job.gpu.stated.empty(); }
  bool has_limits() const { return deadline_s > 0 || budget_usd > 0; }
};

/// One answer of the law, and of the machine where there is one.
struct LossRow {
  std::string model;  ///< empty: --parameters
  double parameters = 0;
  double batch_tokens = 0;  ///< of an update
  double critical_batch_tokens = 0;
  BoundedValue tokens, loss;
  double flops = 0;
  // With a machine
  int gpus = 0;
  BoundedValue tokens_per_s, seconds;
  double usd = 0;
  bool is_on_frontier = false;  ///< no other row to the same loss, or of the same limits, is better in both
  std::string refused;          ///< why this candidate cannot run; the numbers above are then 0
};

struct LossAnswer {
  LossQuestion question;
  LossLaw law;
  std::vector<LossRow> rows;  ///< by loss with limits, else by time; refused ones last
  std::vector<std::string> notes;
};

/// Candidates that were looked at, of all.
using LossProgress = std::function<void(std::size_t done, std::size_t of)>;

/// `jobs`: candidates at a time. Throws InputError for a question that is incomplete, or whose candidates are all refused.
LossAnswer answer_loss(const LossQuestion& question, const Catalogue& catalogue, int jobs,
                       const LossProgress& progress);

/// Tables for a person, with a sentence on what is best.
std::string loss_text(const LossAnswer& answer);
/// Schema lockstep/loss/1.
Json loss_json(const LossAnswer& answer);
/// A chart: loss over tokens, or over days if there is a machine; a line for each batch and number of GPUs.
std::string loss_svg(const LossAnswer& answer);

}  // namespace lockstep::sim::loss_curve
