#include "sim/records/job_split.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/records/stated_split.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// What is stated of a split, by the keys of "parallel".
SplitQuestion question_of(const SplitSpec& split, const ParallelSpec& batch) {
  SplitQuestion question;
  question.stated = batch;
  question.fixed = take_stated(split, question.stated);
  return question;
}

bool leaves_all_open(const Job& job) {
  return !job.is_split() && job.batch_per_gpu == 0 && job.algorithm.empty() && job.rate_samples_per_s == 0 &&
         !job.ignores_memory;
}

}  // namespace

void search_splits(const Job& job, JobPrediction& predicted) {
  const SplitQuestion question = question_of(job.split, *predicted.scenario.parallel);
  for (int gpus : job.gpus) {
    try {
      predicted.rankings.push_back(best_splits(predicted.scenario, gpus, question));
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

Job with_search_where_needed(const Job& job, const Catalogue& catalogue) {
  if (!leaves_all_open(job)) return job;
  const JobPrediction predicted = read_job(job, catalogue);
  const Scenario& scenario = predicted.scenario;
  const int largest = *std::max_element(job.gpus.begin(), job.gpus.end());
  if (!scenario.model.transformer || gpu_memory(scenario, largest, 1).fits()) return job;
  Job searched = job;
  searched.searches_split = true;
  return searched;
}

std::string job_splits_text(const Job& job, const JobPrediction& predicted) {
  std::string text;
  for (const SplitRanking& ranking : predicted.rankings) {
    if (job.lists_splits)
      text += split_ranking_text(predicted.scenario, ranking) + "\n";
    else
      text += "Split over " + std::to_string(ranking.gpus) + " GPUs, the fastest of " +
              with_thousands(ranking.fitting) + " that fit: " + split_text(ranking.best.front().spec) + ".\n";
  }
  return text + (text.empty() || job.lists_splits ? "" : "\n");
}

}  // namespace records
}  // namespace lockstep::sim
