#include "sim/job_prediction/job_split.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "sim/job/sized_name.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// " (8192 tokens per sample are assumed: --seq-length gives others)"; empty: the job gives the length.
std::string assumed_length(const JobPrediction& predicted) {
  const std::int64_t tokens = predicted.scenario.model.tokens;
  const bool is_given = !split_sized_name(predicted.question.job.model.stated).tokens.empty();
  if (tokens == 0 || is_given || predicted.question.job.shape.sequence > 0) return "";
  return " (" + std::to_string(tokens) + " tokens per sample are assumed: --seq-length gives others)";
}

// Returns the search on `gpus` GPUs. It multiplies a batch per GPU by that number, which also divides a default batch.
SplitQuestion question_at(const JobPrediction& predicted, int gpus) {
  SplitQuestion question = predicted.split;
  const Job& given = predicted.question.job;
  const std::int64_t batch = batch_of_search(predicted.job, gpus);
  if (given.global_batch == 0 && given.batch_per_gpu == 0 && batch == 0)
    question.stated.global_batch = static_cast<int>(
        std::min<std::int64_t>(default_global_batch(predicted.scenario.model.tokens, gpus, question.abilities,
                                                    predicted.job.split.task, predicted.job.accumulation),
                               kLargestGlobalBatch));
  if (batch > kLargestGlobalBatch)
    throw InputError(std::string(predicted.job.batch_per_gpu > 0 ? "--batch" : "--accumulation") + ": " +
                     std::to_string(batch) + " sequences an iteration on " + std::to_string(gpus) +
                     " GPUs; allowed: up to " + std::to_string(kLargestGlobalBatch) + " an iteration");
  if (batch > 0) question.stated.global_batch = static_cast<int>(batch);
  return question;
}

std::string share_text(double share) {
  return percent(share, "%.0f %%");
}

// Names the parts of an iteration's time that are not computation.
std::string losses_text(const RankedSplit& split) {
  const SplitIteration& i = split.iteration;
  const double ranks_s = i.of_gpu.tensor_s + i.of_gpu.context_s + i.of_gpu.expert_s + i.of_gpu.sharding_s;
  return "bubble " + share_text(i.bubble_fraction * i.pipeline_s / i.iteration_s) + ", exchange within a replica " +
         share_text(ranks_s / i.iteration_s) + ", between replicas " +
         share_text(i.exposed_exchange_s / i.iteration_s) + " of an iteration; memory " + memory_text(split.memory);
}

// Compares a split with the fastest: "1.1 % longer".
std::string difference_text(const RankedSplit& best, const RankedSplit& next) {
  const double share = next.iteration.iteration_s / best.iteration.iteration_s - 1;
  return std::abs(share) <= kTieShare ? "as long" : percent(share) + " longer";
}

std::string choice_text(const SplitRanking& ranking) {
  if (!ranking.fits()) return "none of " + with_thousands(ranking.valid) + " fits; nearest to fitting";
  if (ranking.valid == 1) return "the only one with the given values";
  if (ranking.fitting == 1) return "the only one of " + with_thousands(ranking.valid) + " that fits";
  return "the fastest of " + with_thousands(ranking.fitting) + " that fit";
}

std::string best_text(const SplitRanking& ranking) {
  const RankedSplit& best = ranking.best.front();
  const std::string chosen = choice_text(ranking);
  std::string text = "Split over " + gpus_text(ranking.gpus) + ", " + chosen + ": " + split_text(best.spec) + ".\n  " +
                     losses_text(best) + ".\n";
  if (best.memory.barely_fits()) text += "  " + barely_fits_text(best.memory) + "\n";
  if (ranking.best.size() < 2) return text;
  const RankedSplit& next = ranking.best[1];
  return text + "The next" + (ranking.fits() ? ", " + difference_text(best, next) : "") + ": " + split_text(next.spec) +
         ".\n  " + losses_text(next) + ".\n";
}

}  // namespace

namespace {

// Searches splits. Micro-batch and accumulation give a batch only together with a number of replicas. If a job gives
// accumulation without a batch, the search begins with the most replicas, or the default batch, and halves it until a
// split fits.
SplitRanking ranking_at(const JobPrediction& predicted, int gpus) {
  SplitQuestion question = question_at(predicted, gpus);
  const Job& job = predicted.job;
  const bool is_batch_open = job.global_batch == 0 && job.batch_per_gpu == 0 && job.accumulation > 0;
  const int of_replica = (job.split.has("micro_batch") ? job.split.values.micro_batch : 1) * job.accumulation;
  std::optional<NoSplit> exceeds_memory;
  for (;; question.stated.global_batch /= 2) {
    try {
      return best_splits(predicted.scenario, gpus, question);
    } catch (const NoSplit& none) {
      if (none.exceeds_memory) exceeds_memory = none;
      const bool can_halve = question.stated.global_batch % 2 == 0 && question.stated.global_batch / 2 >= of_replica;
      if (is_batch_open && can_halve) continue;
      if (exceeds_memory) throw *exceeds_memory;
      throw;
    }
  }
}

}  // namespace

void search_splits(JobPrediction& predicted) {
  ProgressLine progress("GPU counts", predicted.question.gpus.size());
  for (int gpus : predicted.question.gpus) {
    try {
      predicted.rankings.push_back(ranking_at(predicted, gpus));
    } catch (const NoSplit& none) {
      throw NoSplitOfJob{none.why + (none.exceeds_memory ? assumed_length(predicted) : ""), gpus, none.exceeds_memory};
    } catch (const InputError& error) {
      throw InputError(std::string("simulate job: ") + error.what());
    }
    progress.advance();
  }
  const auto largest = std::max_element(predicted.rankings.begin(), predicted.rankings.end(),
                                        [](const SplitRanking& a, const SplitRanking& b) { return a.gpus < b.gpus; });
  predicted.scenario.parallel = largest->best.front().spec;
  predicted.scenario.parallel->data = 0;
  predicted.scenario.batch = {{kMostGpus, predicted.scenario.parallel->micro_batch}};
}

Scenario scenario_at(const JobPrediction& predicted, int gpus) {
  for (const SplitRanking& ranking : predicted.rankings)
    if (ranking.gpus == gpus) return scenario_with_split(predicted.scenario, ranking.best.front().spec, gpus);
  return predicted.scenario;
}

// The search compares splits in closed form. If the fastest is data parallelism alone, the table replays it.
std::string replay_text(const JobPrediction& predicted, const SplitRanking& ranking) {
  constexpr double kShown = 1e-3;
  const RankedSplit& best = ranking.best.front();
  for (const JobRow& row : predicted.rows) {
    if (row.gpus != ranking.gpus || row.samples_per_s.predicted <= 0) continue;
    const double replayed_s = best.spec.global_batch / row.samples_per_s.predicted;
    const double more = replayed_s / best.iteration.iteration_s - 1;
    if (std::abs(more) < kShown) continue;
    return "The fastest is replayed for the table below: " + duration_text(replayed_s) + " an iteration, " +
           formatted("%.1f %%", 100 * std::abs(more)) + (more > 0 ? " longer" : " shorter") +
           " than in the ranking, which compares splits in closed form.\n";
  }
  return "";
}

std::string job_splits_text(const JobPrediction& predicted) {
  std::string text;
  for (const SplitRanking& ranking : predicted.rankings) {
    if (predicted.question.lists_splits)
      text += split_ranking_text(predicted.scenario, ranking) + replay_text(predicted, ranking) + "\n";
    else
      text += best_text(ranking);
  }
  return text + (text.empty() || predicted.question.lists_splits ? "" : "\n");
}

}  // namespace lockstep::sim::job_prediction
