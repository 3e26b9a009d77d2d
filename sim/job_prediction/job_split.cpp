#include "sim/job_prediction/job_split.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// The given keys of a split stay as they are.
SplitQuestion question_of(const GivenSplit& split, const ParallelSpec& batch) {
  SplitQuestion question;
  question.stated = batch;
  question.fixed = apply_given_split(split, question.stated);
  return question;
}

bool leaves_all_open(const JobQuestion& q) {
  return !q.is_split() && q.job.batch_per_gpu == 0 && q.job.exchange.empty() && q.rate_samples_per_s == 0 &&
         !q.ignores_memory;
}

}  // namespace

void search_splits(const JobQuestion& question, JobPrediction& predicted) {
  const SplitQuestion split = question_of(question.job.split, *predicted.scenario.parallel);
  for (int gpus : question.gpus) {
    try {
      predicted.rankings.push_back(best_splits(predicted.scenario, gpus, split));
    } catch (const InputError& error) {
      throw InputError(std::string("simulate job: ") + error.what());
    }
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

JobQuestion with_search_where_needed(const JobQuestion& question, const Catalogue& catalogue) {
  if (!leaves_all_open(question)) return question;
  const JobPrediction predicted = prepare_job(question, catalogue);
  const Scenario& scenario = predicted.scenario;
  if (!scenario.model.transformer || gpu_memory(scenario, question.largest(), 1).fits()) return question;
  JobQuestion searched = question;
  searched.job.split.is_searched = true;
  return searched;
}

std::string job_splits_text(const JobQuestion& question, const JobPrediction& predicted) {
  std::string text;
  for (const SplitRanking& ranking : predicted.rankings) {
    if (question.lists_splits)
      text += split_ranking_text(predicted.scenario, ranking) + "\n";
    else
      text += "Split over " + std::to_string(ranking.gpus) + " GPUs, the fastest of " +
              with_thousands(ranking.fitting) + " that fit: " + split_text(ranking.best.front().spec) + ".\n";
  }
  return text + (text.empty() || question.lists_splits ? "" : "\n");
}

}  // namespace lockstep::sim::job_prediction
