#include "calib/import/loss_formats.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "calib/import/log_text.hpp"
#include "calib/import/training_formats.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kMostLoss = 20;  // nats per token

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

double usable(std::optional<double> loss) {
  return loss && *loss > 0 && *loss < kMostLoss ? *loss : kNoLoss;
}

// Adds the loss behind `key`, if the line has the key: as NaN if the value is "nan", "inf", 0 or too large.
void add(std::vector<LoggedLoss>& to, double step, const std::string& text, const std::string& key,
         std::optional<double> rate = {}) {
  if (has_value_after(text, key)) to.push_back({whole(step), usable(scaled_number_after(text, key)), rate.value_or(0)});
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
    losses.rounded_parameters = 1e9 * *billions;
  if (has_text(text, "> padded vocab (size")) losses.padded_vocabulary = number_after(text, "(new size").value_or(0);
  if (text.rfind("untie_embeddings_and_output_weights ", 0) == 0)
    losses.is_embedding_tied = words_of(text).back() == "False";
  if (has_text(text, "validation loss at iteration"))
    add(losses.evaluations, number_after(text, "at iteration").value_or(0), text, "lm loss value");
  const auto step = number_after(text, "iteration");
  if (!step || !has_text(text, "elapsed time per iteration")) return;
  add(losses.training, *step, text, "lm loss", number_after(text, "learning rate"));
  // Iterations without a finite loss are counted, but their loss is not printed.
  if (number_after(text, "number of nan iterations") && !has_text(text, "lm loss:"))
    losses.training.push_back({whole(*step), kNoLoss});
  if (const auto samples = number_after(text, "consumed samples")) losses.samples = *samples;
}

// Each training line repeats the latest evaluation. It is added at the first line that has it.
void read_nemo(const std::string& text, Losses& losses) {
  const auto step = number_after(text, "global_step");
  if (!step) return;
  add(losses.training, *step, text, "reduced_train_loss", number_after(text, "lr"));
  std::vector<LoggedLoss> evaluation;
  add(evaluation, *step, text, "val_loss");
  const auto is_same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (!evaluation.empty() &&
      (losses.evaluations.empty() || !is_same(losses.evaluations.back().loss, evaluation.front().loss)))
    losses.evaluations.push_back(evaluation.front());
  if (const auto samples = number_after(text, "consumed_samples")) losses.samples = *samples;
}

void read_torchtitan(const std::string& text, Losses& losses) {
  if (const auto count = number_after(text, "size"); count && has_text(text, "total parameters"))
    losses.parameters = *count;
  const auto step = number_after(text, "step");
  if (!step || !has_text(text, "GiB") || !has_text(text, "step:")) return;
  add(has_text(text, "validate") ? losses.evaluations : losses.training, *step, text, "loss", number_after(text, "lr"));
}

// Reads a progress bar of tqdm: "100/1000 [04:11<37:40,  2.51s/it]". The total is 0 if the line has none.
ProgressBar bar_of(const std::string& text) {
  const std::size_t bracket = text.find(" ["), slash = text.rfind('/', bracket);
  if (bracket == std::string::npos || slash == std::string::npos || text.find('<', bracket) == std::string::npos)
    return {};
  std::size_t begin = slash;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return {std::atoll(text.c_str() + begin), std::atoll(text.c_str() + slash + 1)};
}

// True for "Map: 100%|###| 5/5 [...]". The bars of the training and of evaluations have no description.
bool has_description(const std::string& text) {
  const std::size_t percent = text.find("%|");
  if (percent == std::string::npos || percent == 0) return false;
  const std::size_t before = text.find_last_not_of("0123456789 ", percent - 1);
  return before != std::string::npos && text[before] == ':';
}

// Evaluations have progress bars, too. The training's is the one before the first loss.
void read_bar(const std::string& text, Losses& losses) {
  if (has_description(text)) return;
  const ProgressBar bar = bar_of(text);
  if (bar.total > 0 && (losses.bar_total == 0 || bar.total == losses.bar_total)) losses.bar = bar;
}

void read_huggingface_head(const std::string& text, Losses& losses) {
  if (const auto count = number_after(text, "Number of trainable parameters")) losses.parameters = *count;
  if (const auto count = number_after(text, "Num examples"); count && losses.examples == 0) losses.examples = *count;
  if (const auto batch = number_after(text, "Total train batch size (w. parallel, distributed & accumulation)"))
    losses.batch_examples = *batch;
  if (const auto steps = number_after(text, "Total optimization steps")) {
    losses.bar_total = whole(*steps);
    losses.bar = {};
  }
}

// Lines "{'loss': 2.3, 'learning_rate': 5e-05, 'epoch': 0.1}", and entries of the Trainer's state. Only the state has
// steps; a printed line belongs to the step of the training's progress bar.
void read_huggingface(const std::string& text, Losses& losses) {
  read_huggingface_head(text, losses);
  read_bar(text, losses);
  if (text.find('{') == std::string::npos || !has_text(text, "epoch")) return;
  const double epoch = number_after(text, "epoch").value_or(0);
  losses.epochs = std::max(losses.epochs, epoch);
  if (const auto tokens = number_after(text, "num_input_tokens_seen")) losses.tokens = *tokens;
  if (has_value_after(text, "loss") && losses.bar_total == 0) losses.bar_total = losses.bar.total;
  const std::int64_t of_bar = losses.bar_total > 0 ? losses.bar.done : 0;
  const double step = number_after(text, "step").value_or(static_cast<double>(of_bar));
  for (auto [list, key] : {std::pair(&losses.evaluations, "eval_loss"), std::pair(&losses.training, "loss")}) {
    const std::size_t before = list->size();
    add(*list, step, text, key, number_after(text, "learning_rate"));
    if (list->size() > before) list->back().epoch = epoch;
  }
}

void read_nanogpt(const std::string& text, Losses& losses) {
  if (text.rfind("number of parameters: ", 0) == 0)
    losses.parameters = scaled_number_after(text, "number of parameters").value_or(0);
  if (text.rfind("step ", 0) == 0 && has_text(text, ": train loss "))
    add(losses.evaluations, std::atof(text.c_str() + 5), text, "val loss");
  if (text.rfind("iter ", 0) == 0 && has_text(text, ": loss "))
    add(losses.training, std::atof(text.c_str() + 5), text, "loss", number_after(text, "lr"));
}

void read_llmc(const std::string& text, Losses& losses) {
  if (text.rfind("val loss ", 0) == 0)
    add(losses.evaluations, static_cast<double>(last_step(losses)), text, "val loss");
  if (text.rfind("step ", 0) == 0 && has_text(text, "| loss "))
    add(losses.training, std::atof(text.c_str() + 5), text, "loss", number_after(text, "| lr"));
}

void read_nanotron(const std::string& text, Losses& losses) {
  const auto step = scaled_number_after(text, "iteration");
  if (!step || !has_text(text, "lm_loss")) return;
  add(losses.training, *step, text, "lm_loss", number_after(text, "lr"));
  if (const auto tokens = scaled_number_after(text, "consumed_tokens")) losses.tokens = *tokens;
}

struct LossReader {
  const char* program;
  std::function<void(const std::string&, Losses&)> read;
};

const std::vector<LossReader>& readers() {
  static const std::vector<LossReader> all{{"megatron", read_megatron},     {"nemo", read_nemo},
                                           {"torchtitan", read_torchtitan}, {"huggingface", read_huggingface},
                                           {"nanogpt", read_nanogpt},       {"llm.c", read_llmc},
                                           {"nanotron", read_nanotron}};
  return all;
}

// Python writes NaN and Infinity, which are not JSON.
std::string without_non_numbers(std::string text) {
  for (const std::string word : {": NaN", ": Infinity", ": -Infinity"})
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
      text.replace(at, word.size(), ": null");
  return text;
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

const std::string* first_of(const EventFile& file, const std::vector<std::string>& tags) {
  for (const std::string& tag : tags)
    if (file.scalars.count(tag) > 0) return &tag;
  return nullptr;
}

void add_events(const EventFile& file, const std::vector<std::string>& tags, std::vector<LoggedLoss>& to) {
  const std::string* const tag = first_of(file, tags);
  if (tag == nullptr) return;
  for (const ScalarPoint& point : file.scalars.at(*tag)) to.push_back({point.step, usable(point.value)});
  const auto no_number = file.last_not_finite.find(*tag);
  if (no_number != file.last_not_finite.end() && (to.empty() || no_number->second > to.back().step))
    to.push_back({no_number->second, kNoLoss});
}

}  // namespace

std::int64_t last_step(const Losses& losses) {
  std::int64_t step = 0;
  for (const auto* list : {&losses.training, &losses.evaluations})
    for (const LoggedLoss& one : *list) step = std::max(step, one.step);
  return step;
}

std::string loss_programs() {
  std::vector<std::string> names;
  for (const LossReader& reader : readers()) names.emplace_back(reader.program);
  return joined(names);
}

// Programs that use others print a few lines of theirs.
Losses losses_of_text(const std::string& text) {
  Losses best;
  for (const LossReader& reader : readers()) {
    Losses losses;
    std::size_t begin = 0;
    while (begin < text.size()) {
      std::size_t end = text.find_first_of("\r\n", begin);
      if (end == std::string::npos) end = text.size();
      if (end > begin) reader.read(plain_line(text.substr(begin, end - begin)), losses);
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
  const JsonDocument document = JsonDocument::parse(without_non_numbers(text), path);
  if (const auto history = document.root().find("log_history"); history && history->is_array())
    for (const Json& entry : history->json())
      if (entry.is_object()) read_huggingface(entry.dump(), losses);
  return losses;
}

Losses losses_of_events(const EventFile& file) {
  Losses losses;
  add_events(file, kTrainingTags, losses.training);
  add_events(file, kEvaluationTags, losses.evaluations);
  if (const std::string* tag = first_of(file, kRateTags)) {
    const std::vector<ScalarPoint>& rates = file.scalars.at(*tag);
    std::size_t i = 0;
    for (LoggedLoss& one : losses.training) {
      while (i + 1 < rates.size() && rates[i + 1].step <= one.step) ++i;
      one.learning_rate = rates[i].value;
    }
  }
  if (file.scalars.count("Train/Samples/train_loss") > 0) losses.samples = static_cast<double>(last_step(losses));
  return losses;
}

}  // namespace lockstep::calib
