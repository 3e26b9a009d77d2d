#include "calib/import/loss_log.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "calib/import/event_file.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/training_formats.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kLateEvaluation = 0.05;  // share of the steps from whose beginning an evaluation is final
constexpr double kAveragedShare = 0.01;   // of the logged training losses
constexpr std::size_t kLeastAveraged = 10;
constexpr double kDecayed = 0.2;  // learning rate over its peak: above this it has not decayed (assumed)
constexpr double kMostLoss = 20;  // nats per token

struct Losses {
  std::vector<LoggedLoss> training, evaluations;
  double parameters = 0, tokens = 0, samples = 0;  // as the log says; 0: it does not
  std::int64_t bar_steps = 0;                      // of HuggingFace's progress bars
  std::map<std::string, double> rank_parameters;   // Megatron-LM's, by tensor and pipeline rank: "(0, 0)"
};

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

std::int64_t last_step(const Losses& losses) {
  std::int64_t step = 0;
  for (const auto* list : {&losses.training, &losses.evaluations})
    for (const LoggedLoss& one : *list) step = std::max(step, one.step);
  return step;
}

void add(std::vector<LoggedLoss>& to, double step, std::optional<double> loss, std::optional<double> rate = {}) {
  if (loss && *loss < kMostLoss) to.push_back({whole(step), *loss, rate.value_or(0)});
}

// Reads " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1315819520"
void read_rank_parameters(const std::string& text, Losses& losses) {
  const std::string head = "model parallel rank ";
  const std::size_t rank = text.find(head), end = text.find(')', rank);
  if (!has_text(text, "number of parameters on (tensor, pipeline)") || end == std::string::npos) return;
  const std::string name = text.substr(rank + head.size(), end + 1 - rank - head.size());
  losses.rank_parameters[name] = number_after(text, name).value_or(0);
}

// Megatron-LM and Megatron-DeepSpeed.
void read_megatron(const std::string& text, Losses& losses) {
  read_rank_parameters(text, losses);
  if (const auto billions = number_after(text, "Total number of parameters in billions"))
    losses.parameters = 1e9 * *billions;
  if (has_text(text, "validation loss at iteration"))
    add(losses.evaluations, number_after(text, "at iteration").value_or(0), number_after(text, "lm loss value"));
  const auto step = number_after(text, "iteration"), loss = number_after(text, "lm loss");
  if (!step || !loss || !has_text(text, "elapsed time per iteration")) return;
  add(losses.training, *step, loss, number_after(text, "learning rate"));
  if (const auto samples = number_after(text, "consumed samples")) losses.samples = *samples;
}

void read_nemo(const std::string& text, Losses& losses) {
  const auto step = number_after(text, "global_step");
  if (!step) return;
  add(losses.training, *step, number_after(text, "reduced_train_loss"), number_after(text, "lr"));
  if (const auto loss = number_after(text, "val_loss")) add(losses.evaluations, *step, loss);
  if (const auto samples = number_after(text, "consumed_samples")) losses.samples = *samples;
}

void read_torchtitan(const std::string& text, Losses& losses) {
  if (const auto count = number_after(text, "size"); count && has_text(text, "total parameters"))
    losses.parameters = *count;
  const auto step = number_after(text, "step"), loss = number_after(text, "loss");
  if (!step || !loss || !has_text(text, "GiB") || !has_text(text, "step:")) return;
  add(has_text(text, "validate") ? losses.evaluations : losses.training, *step, loss, number_after(text, "lr"));
}

// The steps that a progress bar of tqdm says are done: "100/1000 [04:11<37:40,  2.51s/it]"; 0 if the line has none.
std::int64_t steps_of_bar(const std::string& text) {
  const std::size_t bracket = text.find(" ["), slash = text.rfind('/', bracket);
  if (bracket == std::string::npos || slash == std::string::npos || text.find('<', bracket) == std::string::npos)
    return 0;
  std::size_t begin = slash;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return std::atoll(text.c_str() + begin);
}

// Lines "{'loss': 2.3, 'learning_rate': 5e-05, 'epoch': 0.1}", and entries of the Trainer's state.
void read_huggingface(const std::string& text, Losses& losses) {
  if (const auto count = number_after(text, "Number of trainable parameters")) losses.parameters = *count;
  losses.bar_steps = std::max(losses.bar_steps, steps_of_bar(text));
  if (text.find('{') == std::string::npos || !has_text(text, "epoch")) return;
  const double step = number_after(text, "step").value_or(0);
  if (const auto tokens = number_after(text, "num_input_tokens_seen")) losses.tokens = *tokens;
  if (const auto loss = number_after(text, "eval_loss")) add(losses.evaluations, step, loss);
  add(losses.training, step, number_after(text, "loss"), number_after(text, "learning_rate"));
}

void read_nanogpt(const std::string& text, Losses& losses) {
  if (text.rfind("number of parameters: ", 0) == 0)
    losses.parameters = scaled_number_after(text, "number of parameters").value_or(0);
  if (text.rfind("step ", 0) == 0 && has_text(text, ": train loss "))
    add(losses.evaluations, std::atof(text.c_str() + 5), number_after(text, "val loss"));
  if (text.rfind("iter ", 0) == 0 && has_text(text, ": loss "))
    add(losses.training, std::atof(text.c_str() + 5), number_after(text, "loss"), number_after(text, "lr"));
}

void read_llmc(const std::string& text, Losses& losses) {
  if (text.rfind("val loss ", 0) == 0)
    add(losses.evaluations, static_cast<double>(last_step(losses)), number_after(text, "val loss"));
  if (text.rfind("step ", 0) == 0 && has_text(text, "| loss "))
    add(losses.training, std::atof(text.c_str() + 5), number_after(text, "loss"), number_after(text, "| lr"));
}

void read_nanotron(const std::string& text, Losses& losses) {
  const auto step = scaled_number_after(text, "iteration");
  if (!step || !has_text(text, "lm_loss")) return;
  add(losses.training, *step, scaled_number_after(text, "lm_loss"), number_after(text, "lr"));
  if (const auto tokens = scaled_number_after(text, "consumed_tokens")) losses.tokens = *tokens;
}

using Reader = std::function<void(const std::string&, Losses&)>;

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{read_megatron, read_nemo, read_torchtitan, read_huggingface,
                                       read_nanogpt,  read_llmc, read_nanotron};
  return all;
}

// The reader that finds most losses counts: programs that use others print a few lines of theirs.
Losses losses_of_text(const std::string& text) {
  Losses best;
  for (const Reader& read : readers()) {
    Losses losses;
    std::size_t begin = 0;
    while (begin < text.size()) {
      std::size_t end = text.find_first_of("\r\n", begin);
      if (end == std::string::npos) end = text.size();
      if (end > begin) read(plain_line(text.substr(begin, end - begin)), losses);
      begin = end + 1;
    }
    if (losses.training.size() + losses.evaluations.size() > best.training.size() + best.evaluations.size())
      best = std::move(losses);
  }
  return best;
}

bool is_trainer_state(const std::string& text) {
  return text.find("\"log_history\"") != std::string::npos && text.find_first_not_of(" \t\r\n") == text.find('{');
}

Losses losses_of_state(const std::string& text, const std::string& path) {
  Losses losses;
  const JsonDocument document = JsonDocument::parse(text, path);
  if (const auto history = document.root().find("log_history"); history && history->is_array())
    for (const Json& entry : history->json())
      if (entry.is_object()) read_huggingface(entry.dump(), losses);
  return losses;
}

// Tags of losses and learning rates: Megatron-LM, NeMo, torchtitan, HuggingFace, DeepSpeed, Lightning.
const std::vector<std::string> kTrainingTags{"lm loss",
                                             "reduced_train_loss",
                                             "loss_metrics/global_avg_loss",
                                             "train/loss",
                                             "Train/Samples/train_loss",
                                             "train_loss",
                                             "loss/train",
                                             "loss"};
const std::vector<std::string> kEvaluationTags{"lm loss validation", "val_loss", "validation_metrics/loss", "eval/loss",
                                               "loss/val"};
const std::vector<std::string> kRateTags{"learning-rate",    "learning_rate", "train/learning_rate", "lr",
                                         "Train/Samples/lr", "lr/lr"};

const std::vector<ScalarPoint>* first_of(const EventFile& file, const std::vector<std::string>& tags) {
  for (const std::string& tag : tags)
    if (const auto found = file.scalars.find(tag); found != file.scalars.end()) return &found->second;
  return nullptr;
}

Losses losses_of_events(const EventFile& file) {
  Losses losses;
  if (const auto* points = first_of(file, kTrainingTags))
    for (const ScalarPoint& point : *points) add(losses.training, static_cast<double>(point.step), point.value);
  if (const auto* points = first_of(file, kEvaluationTags))
    for (const ScalarPoint& point : *points) add(losses.evaluations, static_cast<double>(point.step), point.value);
  if (const auto* rates = first_of(file, kRateTags)) {
    std::size_t i = 0;
    for (LoggedLoss& one : losses.training) {
      while (i + 1 < rates->size() && (*rates)[i + 1].step <= one.step) ++i;
      one.learning_rate = (*rates)[i].value;
    }
  }
  if (file.scalars.count("Train/Samples/train_loss") > 0) losses.samples = static_cast<double>(last_step(losses));
  return losses;
}

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

// The sum over all ranks, if every rank is in the log.
double parameters_of(const Losses& losses, const TrainingLog& job) {
  if (losses.parameters > 0) return losses.parameters;
  const double ranks = std::max(1.0, fact(job, "tp")) * std::max(1.0, fact(job, "pp"));
  double sum = 0;
  for (const auto& [rank, count] : losses.rank_parameters) sum += count;
  return static_cast<double>(losses.rank_parameters.size()) == ranks ? sum : fact(job, "params");
}

void set_loss(const Losses& losses, std::int64_t last, LossLog& log) {
  if (!losses.evaluations.empty()) {
    const LoggedLoss& final = losses.evaluations.back();
    if (final.step == 0 || static_cast<double>(final.step) >= (1 - kLateEvaluation) * static_cast<double>(last)) {
      log.loss = final.loss;
      log.loss_source = "last evaluation" + (final.step > 0 ? ", at step " + std::to_string(final.step) : "");
      return;
    }
  }
  if (losses.training.empty())
    throw InputError(log.file + ": its last evaluation is at step " + std::to_string(losses.evaluations.back().step) +
                     " of " + std::to_string(last) + "; allowed: a log with an evaluation or losses at the end");
  const std::size_t count =
      std::min(losses.training.size(),
               std::max(kLeastAveraged, static_cast<std::size_t>(kAveragedShare * double(losses.training.size()))));
  const auto from = losses.training.end() - static_cast<std::ptrdiff_t>(count);
  log.loss = std::accumulate(from, losses.training.end(), 0.0,
                             [](double sum, const LoggedLoss& one) { return sum + one.loss; }) /
             static_cast<double>(count);
  log.loss_source = "mean of the last " + std::to_string(count) + " training losses";
}

void say_schedule(const Losses& losses, LossLog& log) {
  double peak = 0, final = 0;
  for (const LoggedLoss& one : losses.training)
    if (one.learning_rate > 0) peak = std::max(peak, final = one.learning_rate);
  if (peak == 0)
    log.said.push_back(log.file + ": no learning rate is logged; the law takes it as decayed at the end");
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
    throw InputError(path + ": no loss as " + joined(training_formats()) +
                     " print it, and no event file of TensorBoard; allowed: these, or a CSV of parameters,tokens,loss");
  const TrainingLog job = facts_of(path);
  std::int64_t last = std::max(last_step(losses), losses.bar_steps);
  for (const LoggedStep& step : job.steps) last = std::max(last, step.number);
  const double seq = fact(job, "seq");
  log.parameters = facts.parameters > 0 ? facts.parameters : parameters_of(losses, job);
  log.batch_tokens = facts.batch_tokens > 0 ? facts.batch_tokens : job.tokens_per_step;
  log.tokens = facts.tokens > 0 ? facts.tokens : losses.tokens;
  if (log.tokens == 0 && losses.samples > 0) log.tokens = losses.samples * seq;
  if (log.tokens == 0) log.tokens = log.batch_tokens * static_cast<double>(last);
  require(log);
  set_loss(losses, last, log);
  say_schedule(losses, log);
  return log;
}

}  // namespace lockstep::calib
