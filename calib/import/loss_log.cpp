#include "calib/import/loss_log.hpp"

#include <algorithm>
#include <cmath>

#include "calib/import/event_file.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/loss_formats.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kEnd = 0.05;                // share of the steps that is the end: evaluations in it are final
constexpr double kAveragedShare = 0.01;      // share of the steps whose training losses are averaged
constexpr std::size_t kEnoughAveraged = 10;  // with fewer in that share, more are taken, up to kEnd
constexpr double kLargestStep = 1e15;
constexpr double kDecayed = 0.2;  // learning rate over its peak: above this it has not decayed (assumed)

// The facts of the log, from the importer of step times; empty if the log has no times.
TrainingLog facts_of(const std::string& path) {
  try {
    return read_training_file(path);
  } catch (const InputError&) {
    return {};
  }
}

double fact(const TrainingLog& log, const char* key) {
  const auto member = log.job.find(key);
  return member != log.job.end() && member->is_number() ? member->get<double>() : 0;
}

// The sum over all ranks, 0 if a rank is missing. Ranks of experts are not logged. If the embedding is tied, the first
// and the last of several pipeline ranks each hold it.
double sum_over_ranks(const Losses& losses, const TrainingLog& job) {
  const double pipeline = std::max(1.0, fact(job, "pp")), ranks = std::max(1.0, fact(job, "tp")) * pipeline;
  if (static_cast<double>(losses.rank_parameters.size()) != ranks || fact(job, "ep") > 1) return 0;
  double sum = 0;
  for (const auto& [rank, count] : losses.rank_parameters) sum += count;
  if (pipeline == 1) return sum;
  if (!losses.is_embedding_tied) return losses.rounded_parameters > 0 ? 0 : sum;
  if (!*losses.is_embedding_tied) return sum;
  const double vocabulary = fact(job, "vocab") > 0 ? fact(job, "vocab") : losses.padded_vocabulary;
  const double embedding = vocabulary * fact(job, "hidden");
  return embedding > 0 && embedding < sum ? sum - embedding : 0;
}

double parameters_of(const Losses& losses, const TrainingLog& job) {
  if (losses.parameters > 0) return losses.parameters;
  if (const double sum = sum_over_ranks(losses, job); sum > 0) return sum;
  return losses.rounded_parameters > 0 ? losses.rounded_parameters : fact(job, "params");
}

// Computes the steps that HuggingFace's lines lack from their epochs, if the log tells the steps of an epoch.
void set_steps(Losses& losses, double steps_of_epoch) {
  for (auto* list : {&losses.training, &losses.evaluations})
    for (LoggedLoss& one : *list)
      if (one.step == 0) one.step = std::llround(std::min(kLargestStep, one.epoch * steps_of_epoch));
}

void set_places(Losses& losses, std::int64_t last) {
  for (auto* list : {&losses.training, &losses.evaluations})
    for (LoggedLoss& one : *list)
      one.place = last > 0            ? static_cast<double>(one.step) / static_cast<double>(last)
                  : losses.epochs > 0 ? one.epoch / losses.epochs
                                      : 0;
}

bool is_after(const LoggedLoss& one, double last_share) {
  return one.place > 1 - last_share + 1e-9;
}

std::string place_of(const LoggedLoss& one, std::int64_t last) {
  return last > 0 ? "at step " + std::to_string(one.step) + " of " + std::to_string(last)
                  : formatted("at %.0f %% of the epochs", 100 * one.place);
}

void refuse_if_diverged(const LoggedLoss& one, const char* kind, std::int64_t last, const LossLog& log) {
  if (std::isnan(one.loss))
    throw InputError(log.file + ": its last " + kind + ", " + place_of(one, last) +
                     ", is no number between 0 and 20 nats: the training diverged; allowed: --fit without this run, "
                     "or with the log of one that continued from a checkpoint before");
}

// Averages the losses of the last 1 % of the steps. If these are fewer than ten, takes more, up to the last 5 %.
void average_training_losses(const std::vector<LoggedLoss>& training, std::int64_t last, LossLog& log) {
  double sum = 0;
  std::size_t count = 0;
  for (auto one = training.rbegin(); one != training.rend(); ++one) {
    const double share = count < kEnoughAveraged ? kEnd : kAveragedShare;
    if (count > 0 && !is_after(*one, share)) break;
    if (std::isnan(one->loss)) continue;
    sum += one->loss;
    ++count;
  }
  log.loss = sum / static_cast<double>(count);
  log.loss_source = count == 1 ? "last training loss, " + place_of(training.back(), last)
                               : "mean of the last " + std::to_string(count) + " training losses";
  if (count >= kEnoughAveraged) return;
  const std::string found = !is_after(training.back(), kEnd) ? "no training loss"
                            : count == 1                     ? "one training loss"
                                                             : std::to_string(count) + " training losses";
  log.said.push_back(log.file + ": " + found +
                     " in the last 5 % of the steps, so the final loss is uncertain; log ten there, or evaluate at the "
                     "end");
}

void set_loss(const Losses& losses, std::int64_t last, LossLog& log) {
  if (!losses.training.empty()) refuse_if_diverged(losses.training.back(), "training loss", last, log);
  if (!losses.evaluations.empty()) {
    const LoggedLoss& final = losses.evaluations.back();
    if (final.place >= 1 - kEnd) {
      refuse_if_diverged(final, "evaluation", last, log);
      log.loss = final.loss;
      log.loss_source = "last evaluation, " + place_of(final, last);
      return;
    }
    if (losses.training.empty())
      throw InputError(log.file + ": its last evaluation is " + place_of(final, last) +
                       "; allowed: a log with an evaluation or losses at the end");
  }
  average_training_losses(losses.training, last, log);
}

// True if the log begins far from the training's first step, by more than losses are apart.
bool is_resumed(const std::vector<LoggedLoss>& training) {
  if (training.size() < 2) return false;
  const double first = training[0].place, interval = training[1].place - first;
  return first > kEnd && first > 2 * interval;
}

void say_schedule(const Losses& losses, std::int64_t last, LossLog& log) {
  double peak = 0, final = 0;
  for (const LoggedLoss& one : losses.training)
    if (one.learning_rate > 0) peak = std::max(peak, final = one.learning_rate);
  if (peak == 0)
    log.said.push_back(log.file + ": no learning rate is logged; the law takes it as decayed at the end");
  else if (final > kDecayed * peak && is_resumed(losses.training))
    log.said.push_back(log.file + ": begins " + place_of(losses.training.front(), last) +
                       ", so the peak of the learning rate is not in the log; the law takes it as decayed at the end");
  else if (final > kDecayed * peak)
    log.said.push_back(log.file + ": the learning rate ended at " + formatted("%.0f %%", 100 * final / peak) +
                       " of its peak; a run that decays it reaches a lower loss");
}

void require(const LossLog& log) {
  std::vector<std::string> missing;
  if (log.parameters == 0) missing.emplace_back("parameters");
  if (log.tokens == 0) missing.emplace_back(log.batch_tokens == 0 ? "batch_tokens" : "tokens");
  std::string facts;
  for (const std::string& key : missing) facts += (facts.empty() ? ":" : ",") + key + "=...";
  if (!missing.empty())
    throw InputError(log.file + ": does not log " + joined(missing) + "; allowed: " + log.file + facts);
}

}  // namespace

LossLog read_loss_log(const std::string& path, const LossFacts& facts) {
  const std::string bytes = log_bytes(path);
  LossLog log;
  log.file = path;
  Losses losses;
  if (is_event_file(bytes)) {
    losses = losses_of_events(read_event_file(bytes, path));
  } else {
    const std::string text = text_from(bytes, path);
    losses = is_trainer_state(text) ? losses_of_state(text, path) : losses_of_text(text);
  }
  if (losses.training.empty() && losses.evaluations.empty())
    throw InputError(path + ": no loss as " + loss_programs() +
                     " print it, and no event file of TensorBoard; allowed: these, or a CSV of "
                     "parameters,tokens,loss. DeepSpeed prints no loss: give its event file of TensorBoard");
  const TrainingLog job = facts_of(path);
  if (losses.batch_examples > 0) set_steps(losses, losses.examples / losses.batch_examples);
  std::int64_t last = std::max(last_step(losses), losses.bar_total > 0 ? losses.bar.done : 0);
  if (losses.bar_total == 0)  // else they may be steps of another progress bar
    for (const LoggedStep& step : job.steps) last = std::max(last, step.number);
  if (losses.epochs > 0) set_steps(losses, static_cast<double>(last) / losses.epochs);
  set_places(losses, last);
  const double seq = fact(job, "seq");
  log.parameters = facts.parameters > 0 ? facts.parameters : parameters_of(losses, job);
  log.batch_tokens = facts.batch_tokens > 0 ? facts.batch_tokens : job.tokens_per_step;
  log.tokens = facts.tokens > 0 ? facts.tokens : losses.tokens;
  if (log.tokens == 0 && losses.samples > 0) log.tokens = losses.samples * seq;
  if (log.tokens == 0) log.tokens = log.batch_tokens * static_cast<double>(last);
  require(log);
  set_loss(losses, last, log);
  say_schedule(losses, last, log);
  return log;
}

}  // namespace lockstep::calib
