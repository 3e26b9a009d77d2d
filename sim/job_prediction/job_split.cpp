#include "sim/job_prediction/job_split.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// At a number of GPUs; a batch per GPU grows with it.
SplitQuestion question_at(const JobPrediction& predicted, int gpus) {
  SplitQuestion question = predicted.split;
  const std::int64_t batch_per_gpu = predicted.job.global_batch == 0 ? predicted.job.batch_per_gpu : 0;
  if (batch_per_gpu > 0) question.stated.global_batch = static_cast<int>(batch_per_gpu * gpus);
  return question;
}

}  // namespace

void search_splits(JobPrediction& predicted) {
  for (int gpus : predicted.question.gpus) {
    try {
      predicted.rankings.push_back(best_splits(predicted.scenario, gpus, question_at(predicted, gpus)));
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

std::string job_splits_text(const JobPrediction& predicted) {
  std::string text;
  for (const SplitRanking& ranking : predicted.rankings) {
    if (predicted.question.lists_splits)
      text += split_ranking_text(predicted.scenario, ranking) + "\n";
    else
      text += "Split over " + std::to_string(ranking.gpus) + " GPUs, the fastest of " +
              with_thousands(ranking.fitting) + " that fit: " + split_text(ranking.best.front().spec) + ".\n";
  }
  return text + (text.empty() || predicted.question.lists_splits ? "" : "\n");
}

}  // namespace lockstep::sim::job_prediction
