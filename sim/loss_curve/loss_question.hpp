#pragma once
// The questions of `simulate loss`: loss, tokens, days and dollars of training a language model from scratch.
//
// Without a GPU, only the law answers: loss after tokens, tokens to a loss, and the best size and tokens for a number
// of floating-point operations. With a GPU, every combination of model size, number of GPUs and batch is a job, whose
// rate determines days and cost. With a deadline or a budget, each job trains as long as these allow. Above 64
// GPUs, cost, deadline and budget count the calendar time, as for `simulate job`.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::loss_curve {

struct LossQuestion {
  JobQuestion job;                            ///< model, GPU, network, software, ...; all of its `gpus` are compared
  std::string model_family;                   ///< sizes to compare, instead of the job's model
  double parameters = 0;                      ///< given instead of a model; counted as the law counts
  std::vector<double> losses, tokens, flops;  ///< at most one of these is given
  std::vector<double> batch_tokens;           ///< per update; empty: batches around the critical batch
  double deadline_s = 0;                      ///< 0: none
  double budget_usd = 0;                      ///< 0: none
  bool has_machine() const { return !job.job.gpu.stated.empty(); }
  bool has_limits() const { return deadline_s > 0 || budget_usd > 0; }
};

/// One answer by the law and, if a machine is given, by the machine.
struct LossRow {
  std::string model;  ///< empty: --parameters was given
  double parameters = 0;
  std::optional<BoundedValue> parameter_interval;  ///< for the best size with --flops
  double batch_tokens = 0;                         ///< per update; 0: a small batch
  double critical_batch_tokens = 0;
  BoundedValue tokens, loss;
  double flops = 0;
  // With a machine
  int gpus = 0;
  BoundedValue tokens_per_s, seconds;
  std::optional<BoundedValue> calendar_s;  ///< `seconds` with interruptions (job_calendar.hpp)
  double interruptions = 0;                ///< in the calendar time
  double usd = 0;
  /// Returns the time for which GPUs are paid.
  const BoundedValue& paid_s() const { return calendar_s ? *calendar_s : seconds; }
  /// True if no other row dominates this one in loss, time and cost. With limits: in loss and number of
  /// parameters.
  bool is_on_frontier = false;
  std::string refused;  ///< why this candidate cannot run; all its numbers are then 0
};

struct LossAnswer {
  LossQuestion question;
  LossLaw law;
  /// Sorted by loss, then by time (if a machine but no deadline or budget is given), then by tokens; refused rows last.
  std::vector<LossRow> rows;
  std::vector<std::string> notes;
  std::string calendar_text;  ///< lines on the rates of interruptions; empty: no row has a calendar time
};

/// `jobs` candidates run at a time. Throws InputError if the question is incomplete or all candidates are
/// refused.
LossAnswer answer_loss(const LossQuestion& question, const Catalogue& catalogue, int jobs);

/// Writes tables for human readers, with a sentence on the best row.
std::string loss_text(const LossAnswer& answer);
/// Writes schema lockstep/loss/1.
Json loss_json(const LossAnswer& answer);
/// Draws the loss over tokens, or over days if there is a machine, with a line for each batch and number of GPUs.
std::string loss_svg(const LossAnswer& answer);

}  // namespace lockstep::sim::loss_curve
