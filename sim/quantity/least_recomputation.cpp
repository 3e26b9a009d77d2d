#include "sim/quantity/least_recomputation.hpp"

#include <algorithm>
#include <limits>

#include "sim/job/job_fields.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/replica/rank_cost.hpp"

namespace lockstep::sim::quantity {
namespace {

// A job's split with its recomputation.
struct Trial {
  bool fits = true;
  double repeated_share = 0;  // of the work of both passes
  int layers_of_chunk = 0;
  std::vector<RecomputeChoice> recomputations;  // that the software supports
};

Trial tried(const Job& job, const Catalogue& catalogue) {
  StackOptions options;
  options.needs_room = false;
  Inputs inputs;
  StackModel m{job, catalogue, options, inputs};
  find_entries(m);
  if (m.model->tokens == 0) return {};
  const Workload workload = iteration_workload(m, gpus_of(m), batch_of(m));
  const Scenario& scenario = workload.scenario;
  if (!scenario.parallel) return {};
  const int chunks = scenario.parallel->pipeline * scenario.parallel->chunks();
  Trial trial;
  trial.fits = gpu_memory(scenario, workload.gpus, workload.batch_per_gpu).fits();
  trial.repeated_share = recomputed_share(scenario);
  trial.layers_of_chunk = (scenario.model.transformer->spec.layers + chunks - 1) / chunks;
  trial.recomputations = m.stack->splits.recomputations;
  return trial;
}

Job with_recomputation(Job job, const RecomputeChoice& choice, int layers = 0) {
  GivenSplit& split = job.split;
  split.values.recompute = choice.recompute;
  split.values.recompute_modules = choice.modules;
  split.values.recompute_layers = layers;
  split.keys.insert("recompute");
  if (!choice.modules.empty()) split.keys.insert("recompute_modules");
  if (layers > 0) split.keys.insert("recompute_layers");
  return job;
}

// Returns the fewest first layers of each chunk whose recomputation suffices; 0: all.
int fewest_layers(const Job& job, int layers_of_chunk, const Catalogue& catalogue) {
  int enough = layers_of_chunk, too_few = 0;
  while (enough - too_few > 1) {
    const int layers = (enough + too_few) / 2;
    (tried(with_recomputation(job, {Recomputation::full}, layers), catalogue).fits ? enough : too_few) = layers;
  }
  return enough == layers_of_chunk ? 0 : enough;
}

// Returns the job as it was if no recomputation suffices.
Job with_least(const Job& job, const Trial& without, const Catalogue& catalogue) {
  const bool chooses_layers = std::any_of(without.recomputations.begin(), without.recomputations.end(),
                                          [](const RecomputeChoice& choice) { return !choice.modules.empty(); });
  Job least = job;
  double least_share = std::numeric_limits<double>::infinity();
  for (const RecomputeChoice& choice : without.recomputations) {
    Job changed = with_recomputation(job, choice);
    Trial trial = tried(changed, catalogue);
    if (!trial.fits) continue;
    if (choice.recompute == Recomputation::full && chooses_layers) {
      changed = with_recomputation(job, choice, fewest_layers(job, without.layers_of_chunk, catalogue));
      trial = tried(changed, catalogue);
    }
    if (trial.repeated_share >= least_share) continue;
    least = changed;
    least_share = trial.repeated_share;
  }
  return least;
}

}  // namespace

void add_least_recomputation(Job& job, const Catalogue& catalogue) {
  if (!job.exchange.empty() || !is_split(job) || job.split.has("recompute") || job.split.has("recompute_modules"))
    return;
  try {
    const Trial without = tried(job, catalogue);
    if (without.fits) return;
    Job least = with_least(job, without, catalogue);
    for (const char* key : {"recompute", "recompute_modules", "recompute_layers"})
      if (least.split.has(key)) least.record_default(chosen_key(key), "the least with which the split fits");
    job = std::move(least);
  } catch (const Unmapped&) {    // reported by the prediction
  } catch (const InputError&) {  // the same
  }
}

}  // namespace lockstep::sim::quantity
