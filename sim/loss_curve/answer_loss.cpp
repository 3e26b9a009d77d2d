#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job_plan/model_family.hpp"
#include "sim/job_prediction/job_calendar.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/loss_curve/loss_question.hpp"

namespace lockstep::sim::loss_curve {
namespace {

constexpr double kFlopsPerParameterAndToken = 6;
constexpr double kNearPower = 0.05;

/// A size of model. It comes from the catalogue or a file, or is only a number of parameters.
struct Size {
  std::string name;  ///< for --model; empty: only a number of parameters is given
  std::string text;
  LossModel model;
};

struct Candidate {
  Size size;
  int gpus = 0;
  double batch_tokens = 0;  ///< 0: a small batch
};

Size size_of_model(const std::string& name, const LossLaw& law) {
  std::map<std::string, std::string> inputs;
  const model::Graph graph = model::graph_of(name, inputs);
  if (!graph.transformer || graph.tokens == 0 || graph.transformer->spec.objective != model::Objective::next_token)
    throw InputError("simulate loss: " + name +
                     " does not predict the next token, and no law says its loss; allowed: "
                     "models of text, such as llama3_8b");
  const model::TransformerSpec& spec = graph.transformer->spec;
  const std::string shape = std::to_string(spec.layers) + "x" + std::to_string(spec.hidden);
  return {name, name.front() == '{' ? spec.name + " " + shape : name, loss_model_of(graph, graph.name, law)};
}

std::vector<Size> sizes_of(const LossQuestion& q, const LossLaw& law, const Catalogue& catalogue) {
  if (q.parameters > 0) return {{"", "", {"", {q.parameters, q.parameters, q.parameters}, 1, kMostVocabulary}}};
  if (q.model_family.empty()) return {size_of_model(q.job.job.model.stated, law)};
  std::vector<Size> sizes;
  for (const std::string& name : job_plan::list_family_models(q.model_family, catalogue))
    sizes.push_back(size_of_model(name, law));
  return sizes;
}

/// Chooses powers of two from an eighth of the critical batch up to the critical batch, at the requested loss or
/// tokens. With limits they are between 1M and 16M tokens.
std::vector<double> batches_of(const LossQuestion& q, const Size& size, const LossLaw& law) {
  if (!q.batch_tokens.empty()) return q.batch_tokens;
  if (q.has_limits()) return {1 << 20, 1 << 22, 1 << 24};
  double minimal = q.tokens.empty() ? 0 : q.tokens.front();
  if (!q.losses.empty()) minimal = minimal_tokens_to(law, size.model.parameters.middle, q.losses.front());
  if (std::isinf(minimal) || minimal == 0) return {1 << 22};
  std::vector<double> batches;
  for (const double share : {0.125, 0.35, 1.0})
    batches.push_back(std::exp2(std::round(std::log2(share * critical_batch(law, minimal)))));
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

/// Rounds to whole sequences. Prefers a power of two within 5 %, because GPUs divide it: "4M" tokens are 512 sequences
/// of 8,192. A whole number of sequences stays as it is.
double whole_batch(double batch_tokens, double sequence_tokens) {
  if (std::fmod(batch_tokens, sequence_tokens) == 0) return batch_tokens;
  const double sequences = std::max(1.0, std::round(batch_tokens / sequence_tokens));
  const double power = std::exp2(std::round(std::log2(sequences)));
  return (std::abs(power / sequences - 1) <= kNearPower ? power : sequences) * sequence_tokens;
}

std::vector<Candidate> candidates_of(const LossQuestion& q, const LossLaw& law, const Catalogue& catalogue) {
  std::vector<Candidate> candidates;
  for (const Size& size : sizes_of(q, law, catalogue)) {
    const std::vector<int> gpus = q.has_machine() ? q.job.gpus : std::vector<int>{0};
    for (const int n : gpus)
      for (const double batch : batches_of(q, size, law))
        candidates.push_back({size, n, n > 0 ? whole_batch(batch, size.model.sequence_tokens) : batch});
  }
  return candidates;
}

/// A candidate's speed, and its calendar time over the time of the training.
struct Speed {
  BoundedValue tokens_per_s;
  double calendar_factor = 1;
  job_prediction::CalendarInterval calendar_interval;
  double interruptions_per_s = 0;
  std::string calendar_text;  ///< empty: interruptions are left out
};

/// Predicts a candidate's job, whose split is searched.
Speed speed_of(const LossQuestion& q, const Candidate& c, const Catalogue& catalogue) {
  JobQuestion job = q.job;
  job.job.model.stated = c.size.name;
  job.gpus = {c.gpus};
  job.loss = job.tokens = job.flops = job.usd_per_gpu_hour = 0;
  job.job.global_batch = std::llround(c.batch_tokens / c.size.model.sequence_tokens);
  JobPrediction predicted = predict_job(job, catalogue, 1);
  const QuantityPrediction& samples = predicted.rows.front().samples_per_s;
  const double tokens = c.size.model.sequence_tokens;
  Speed speed;
  speed.tokens_per_s = {samples.predicted * tokens, samples.low * tokens, samples.high * tokens};
  const Scenario& scenario = samples.task.target.front().scenario;
  if (const auto time =
          job_prediction::calendar_time(predicted, scenario, c.gpus, job_prediction::iteration_s(samples), {1, 1, 1})) {
    speed.calendar_factor = time->seconds;
    speed.interruptions_per_s = time->interruptions;  // per second of training
    speed.calendar_interval = job_prediction::calendar_interval(predicted);
    predicted.question.gpus = q.job.gpus;  // one text is printed for all rows, so it counts the GPUs of the job
    speed.calendar_text = job_prediction::calendar_text(predicted);
  }
  return speed;
}

/// Refuses tokens after which the law exceeds the loss of an untrained model.
void refuse_too_few_tokens(const LossLaw& law, const LossModel& model, LossRow& row) {
  row.loss.high = std::min(row.loss.high, untrained_loss(model));
  if (row.loss.middle >= untrained_loss(model))
    row.refused = format_count(row.tokens.middle) + " tokens are so few that the law " + law.id + " exceeds " +
                  untrained_loss_text(model) + "; train on more tokens";
}

/// Sets the loss of `c` after `tokens`. The rate's interval determines that of the tokens.
void set_loss(const LossLaw& law, const Candidate& c, const BoundedValue& tokens, LossRow& row) {
  row.tokens = tokens;
  row.loss = predict_loss(law, c.size.model, tokens.middle, c.batch_tokens, kLossCoverage);
  refuse_too_few_tokens(law, c.size.model, row);
  if (tokens.low == tokens.high) return;
  const auto at = [&](double d) { return loss_of(law, c.size.model.parameters.middle, d, c.batch_tokens); };
  const double above =
      std::hypot(std::log(row.loss.high / row.loss.middle), std::log(at(tokens.low) / row.loss.middle));
  const double below =
      std::hypot(std::log(row.loss.middle / row.loss.low), std::log(row.loss.middle / at(tokens.high)));
  row.loss.low = row.loss.middle * std::exp(-below);
  row.loss.high = std::min(row.loss.middle * std::exp(above), untrained_loss(c.size.model));
}

void set_tokens_to(const LossLaw& law, const Candidate& c, double loss, LossRow& row) {
  row.loss = {loss, loss, loss};
  row.tokens = predict_tokens(law, c.size.model.parameters.middle, loss, c.batch_tokens, kLossCoverage);
  row.tokens.low = predict_tokens(law, c.size.model.parameters.high, loss, c.batch_tokens, kLossCoverage).low;
  row.tokens.high = predict_tokens(law, c.size.model.parameters.low, loss, c.batch_tokens, kLossCoverage).high;
  if (loss >= untrained_loss(c.size.model))
    row.refused = "a loss of " + short_number(loss) + " is not below " + untrained_loss_text(c.size.model) +
                  "; ask for a lower loss";
  else if (std::isinf(row.tokens.middle))
    row.refused =
        "the law says " + formatted("%.3f", least_loss(law, c.size.model.parameters.middle)) + " with endless data";
}

void set_cost(const LossQuestion& q, const Speed& speed, LossRow& row) {
  row.interruptions = speed.interruptions_per_s * row.seconds.middle;
  row.usd = rent_usd(row.paid_s().middle, row.gpus, q.job.usd_per_gpu_hour);
}

/// Sets the time of the row's tokens at its rate. Both intervals are combined in quadrature, in the logarithm.
void set_time(const LossQuestion& q, const Speed& speed, LossRow& row) {
  const auto reach = [](double a, double b) { return std::hypot(std::log(a), std::log(b)); };
  const double seconds = row.tokens.middle / row.tokens_per_s.middle;
  row.seconds = {
      seconds,
      seconds * std::exp(-reach(row.tokens.middle / row.tokens.low, row.tokens_per_s.high / row.tokens_per_s.middle)),
      seconds * std::exp(reach(row.tokens.high / row.tokens.middle, row.tokens_per_s.middle / row.tokens_per_s.low))};
  if (!speed.calendar_text.empty()) {
    const double middle = seconds * speed.calendar_factor;
    row.calendar_s = {middle, std::min(row.seconds.low * speed.calendar_factor, middle * speed.calendar_interval.low),
                      std::max(row.seconds.high * speed.calendar_factor, middle * speed.calendar_interval.high)};
  }
  set_cost(q, speed, row);
}

/// Trains as long as deadline and budget allow.
void train_within_limits(const LossQuestion& q, const LossLaw& law, const Candidate& c, const Speed& speed,
                         LossRow& row) {
  double paid_s = q.deadline_s > 0 ? q.deadline_s : INFINITY;
  if (q.budget_usd > 0) paid_s = std::min(paid_s, 3600 * q.budget_usd / (q.job.usd_per_gpu_hour * c.gpus));
  const double seconds = paid_s / speed.calendar_factor;
  const double tokens = row.tokens_per_s.middle * seconds;
  set_loss(law, c,
           {tokens, std::min(row.tokens_per_s.low * seconds, tokens / speed.calendar_interval.high),
            std::max(row.tokens_per_s.high * seconds, tokens / speed.calendar_interval.low)},
           row);
  row.seconds = {seconds, seconds, seconds};
  if (!speed.calendar_text.empty()) row.calendar_s = {paid_s, paid_s, paid_s};
  set_cost(q, speed, row);
}

LossRow start_row(const Candidate& c) {
  LossRow row;
  row.model = c.size.text;
  row.parameters = c.size.model.parameters.middle;
  row.gpus = c.gpus;
  row.batch_tokens = c.batch_tokens;
  return row;
}

void finish_row(const LossLaw& law, const Candidate& c, LossRow& row) {
  row.flops = kFlopsPerParameterAndToken * c.size.model.parameters.middle * row.tokens.middle;
  row.critical_batch_tokens = critical_batch(law, minimal_tokens(law, row.tokens.middle, row.batch_tokens));
}

/// Holds the rows of one candidate, or of all.
struct CandidateRows {
  std::vector<LossRow> rows;
  std::string calendar_text;  ///< empty: no row has a calendar time
};

/// Returns a row for each requested loss, number of tokens or FLOP; with limits a single row.
CandidateRows rows_of(const LossQuestion& q, const LossLaw& law, const Candidate& c, const Catalogue& catalogue) {
  LossRow first = start_row(c);
  Speed speed;
  if (q.has_machine()) {
    try {
      speed = speed_of(q, c, catalogue);
      first.tokens_per_s = speed.tokens_per_s;
    } catch (const InputError& error) {
      first.refused = error.what();
      return {{first}, ""};
    }
  }
  std::vector<LossRow> rows;
  const auto add = [&](const auto& fill) {
    LossRow row = first;
    fill(row);
    if (row.refused.empty()) {
      finish_row(law, c, row);
      if (q.has_machine() && !q.has_limits()) set_time(q, speed, row);
    }
    rows.push_back(row);
  };
  if (q.has_limits()) add([&](LossRow& row) { train_within_limits(q, law, c, speed, row); });
  for (const double loss : q.losses) add([&](LossRow& row) { set_tokens_to(law, c, loss, row); });
  for (const double tokens : q.tokens) add([&](LossRow& row) { set_loss(law, c, {tokens, tokens, tokens}, row); });
  for (const double flops : q.flops) {
    const double tokens = flops / (kFlopsPerParameterAndToken * c.size.model.parameters.middle);
    add([&](LossRow& row) { set_loss(law, c, {tokens, tokens, tokens}, row); });
  }
  return {rows, speed.calendar_text};
}

/// Marks rows that no other row dominates in loss, time and cost. With limits, it compares loss and size.
void mark_frontier(const LossQuestion& q, std::vector<LossRow>& rows) {
  using Objectives = std::array<double, 3>;
  const auto objectives_of = [&](const LossRow& row) {
    return q.has_limits() ? Objectives{row.loss.middle, row.parameters, 0}
                          : Objectives{row.loss.middle, row.paid_s().middle, row.usd};
  };
  const auto dominates = [&](const LossRow& other, const LossRow& row) {
    const Objectives a = objectives_of(other), b = objectives_of(row);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] > b[i]) return false;
    return other.refused.empty() && a != b;
  };
  for (LossRow& row : rows)
    row.is_on_frontier =
        row.refused.empty() && q.has_machine() &&
        std::none_of(rows.begin(), rows.end(), [&](const LossRow& other) { return dominates(other, row); });
}

void sort_rows(const LossQuestion& q, std::vector<LossRow>& rows) {
  const auto key = [&](const LossRow& row) {
    return std::tuple{!row.refused.empty(), row.loss.middle,
                      q.has_machine() && !q.has_limits() ? row.paid_s().middle : 0.0, row.tokens.middle};
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const LossRow& a, const LossRow& b) { return key(a) < key(b); });
}

void check_question(const LossQuestion& q) {
  const int models = int(!q.job.job.model.stated.empty()) + int(!q.model_family.empty()) + int(q.parameters > 0);
  const bool is_optimum = !q.flops.empty() && models == 0;
  if (models != 1 && !is_optimum)
    throw InputError("simulate loss: the model is not given once; allowed: --model, --model-family or --parameters");
  if (is_fine_tuning(q.job.job))
    throw InputError(
        "simulate loss: fine-tuning has no law of the loss; allowed: simulate job with --tokens or --samples");
  const int works = int(!q.losses.empty()) + int(!q.tokens.empty()) + int(!q.flops.empty()) + int(q.has_limits());
  if (works != 1)
    throw InputError(
        "simulate loss: what is asked for is not given once; allowed: --loss, --tokens, --flops, or "
        "--budget and --deadline");
  if (!q.has_machine() && (q.has_limits() || !q.job.gpus.empty() || q.job.usd_per_gpu_hour > 0))
    throw InputError("simulate loss: no GPU is given; allowed: --gpu and --gpus with --budget, --deadline and --price");
  if (!q.has_machine()) return;
  if (q.job.gpus.empty()) throw InputError("simulate loss: --gpus is missing; allowed: --gpu and --gpus");
  if (models == 0 || q.parameters > 0)
    throw InputError("simulate loss: a number of parameters has no rate on a GPU; allowed: --model or --model-family");
  if (q.budget_usd > 0 && q.job.usd_per_gpu_hour == 0)
    throw InputError("--budget: what a GPU costs is not given; allowed: with --price");
}

/// If no model is given, finds the best size for each number of operations.
std::vector<LossRow> optimum_rows(const LossQuestion& q, const LossLaw& law) {
  std::vector<LossRow> rows;
  for (const double flops : q.flops) {
    const ComputeOptimum optimum = optimum_of(law, flops);
    LossRow row;
    row.parameters = optimum.parameters.middle;
    row.parameter_interval = optimum.parameters;
    row.tokens = {optimum.tokens, optimum.tokens, optimum.tokens};
    row.loss = predict_loss(law, row.parameters, optimum.tokens, 0, kLossCoverage);
    row.flops = flops;
    row.critical_batch_tokens = critical_batch(law, optimum.tokens);
    refuse_too_few_tokens(law, {}, row);
    rows.push_back(row);
  }
  return rows;
}

CandidateRows all_rows(const LossQuestion& q, const LossLaw& law, const Catalogue& catalogue, int jobs) {
  const std::vector<Candidate> candidates = candidates_of(q, law, catalogue);
  std::vector<CandidateRows> found(candidates.size());
  std::atomic<std::size_t> next{0}, done{0};
  const auto work = [&](ProgressLine* progress) {
    for (std::size_t i = next++; i < candidates.size(); i = next++) {
      found[i] = rows_of(q, law, candidates[i], catalogue);
      ++done;
      if (progress != nullptr) progress->advance_to(done);
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < jobs && q.has_machine(); ++i) others.emplace_back(work, nullptr);
  ProgressLine progress("candidates", candidates.size());
  work(&progress);
  for (std::thread& other : others) other.join();
  CandidateRows all;
  for (CandidateRows& some : found) {
    std::move(some.rows.begin(), some.rows.end(), std::back_inserter(all.rows));
    if (all.calendar_text.empty()) all.calendar_text = some.calendar_text;
  }
  return all;
}

// Returns notes on how far the first row, which is the best, is outside the law's runs.
std::vector<std::string> notes_of(const LossAnswer& answer) {
  const LossRow& best = answer.rows.front();
  return beyond_range(answer.law, best.parameters, best.tokens.middle);
}

}  // namespace

LossAnswer answer_loss(const LossQuestion& question, const Catalogue& catalogue, int jobs) {
  check_question(question);
  LossAnswer answer{question, loss_law_of(question.job, catalogue), {}, {}, ""};
  const bool has_model =
      question.parameters > 0 || !question.model_family.empty() || !question.job.job.model.stated.empty();
  const CandidateRows all = has_model ? all_rows(question, answer.law, catalogue, jobs)
                                      : CandidateRows{optimum_rows(question, answer.law), ""};
  answer.rows = all.rows;
  answer.calendar_text = all.calendar_text;
  if (std::none_of(answer.rows.begin(), answer.rows.end(), [](const LossRow& row) { return row.refused.empty(); }))
    throw InputError("simulate loss: no candidate can run: " + answer.rows.front().refused);
  sort_rows(question, answer.rows);
  mark_frontier(question, answer.rows);
  answer.notes = notes_of(answer);
  return answer;
}

}  // namespace lockstep::sim::loss_curve
