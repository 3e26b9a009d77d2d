#include "sim/program/split_fits.hpp"

#include <functional>
#include <vector>

#include "sim/program/gpu_memory.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::program {
namespace {

constexpr const char *kTensor = "tensor", *kPipeline = "pipeline";

struct Change {
  std::string key;  ///< of the split
  std::string value;
  std::function<void(ParallelSpec&)> apply;

  bool adds_ranks() const { return key == kTensor || key == kPipeline; }
};

// The order is by cost in time, usually from least to most.
std::vector<Change> changes_of(const ParallelSpec& spec) {
  std::vector<Change> changes;
  const auto shard = [&](ShardingStage stage) {
    if (static_cast<int>(spec.sharding) < static_cast<int>(stage))
      changes.push_back({"sharding", name_of(stage), [=](ParallelSpec& s) { s.sharding = stage; }});
  };
  shard(ShardingStage::zero1);
  if (spec.tensor > 1 && !spec.sequence)
    changes.push_back({"sequence", "true", [](ParallelSpec& s) { s.sequence = true; }});
  if (spec.micro_batch > 1) changes.push_back({"micro_batch", "1", [](ParallelSpec& s) { s.micro_batch = 1; }});
  if (spec.recompute == Recomputation::none)
    changes.push_back({"recompute", "selective", [](ParallelSpec& s) { s.recompute = Recomputation::selective; }});
  for (int times = 2; times <= 8; times *= 2)
    changes.push_back({kTensor, std::to_string(times * spec.tensor), [=](ParallelSpec& s) { s.tensor *= times; }});
  for (int times = 2; times <= 16; times *= 2)
    changes.push_back(
        {kPipeline, std::to_string(times * spec.pipeline), [=](ParallelSpec& s) { s.pipeline *= times; }});
  if (spec.recompute != Recomputation::full)
    changes.push_back({"recompute", "full", [](ParallelSpec& s) { s.recompute = Recomputation::full; }});
  if (spec.recompute_layers > 0)
    changes.push_back({"recompute", "full without recompute_layers", [](ParallelSpec& s) { s.recompute_layers = 0; }});
  shard(ShardingStage::zero2);
  shard(ShardingStage::zero3);
  return changes;
}

// Derives the replicas anew, because more ranks in one dimension leave fewer of them.
bool fits(Scenario scenario, const ParallelSpec& spec, int gpus) {
  scenario.parallel = spec;
  scenario.parallel->data = 0;
  scenario.gpus = {gpus};
  scenario.baseline_gpus = gpus;
  scenario.batch = {{kMostGpus, spec.micro_batch}};
  if (spec.tensor > scenario.cluster.gpus_per_node || find_problem(scenario)) return false;
  try {
    return gpu_memory(scenario, gpus, spec.micro_batch).fits();
  } catch (const InputError&) {
    return false;  // heads or layers cannot be divided
  }
}

}  // namespace

std::string suggest_fitting_split(const Scenario& scenario, int gpus) {
  constexpr int kMostTold = 3;
  std::string text;
  int told = 0;
  std::string last_key;
  ParallelSpec all = *scenario.parallel;
  for (const Change& change : changes_of(*scenario.parallel)) {
    ParallelSpec changed = *scenario.parallel;
    change.apply(changed);
    if (!change.adds_ranks()) change.apply(all);
    if (change.key == last_key || told == kMostTold || !fits(scenario, changed, gpus)) continue;
    text += (text.empty() ? "" : ", or ") + change.key + " " + change.value;
    last_key = change.key;
    ++told;
  }
  if (!text.empty()) return text;
  if (fits(scenario, all, gpus)) return "sharding zero3, recompute full and micro_batch 1 together";
  return "more ranks of tensor or pipeline, or GPUs of more memory";
}

}  // namespace lockstep::sim::program
