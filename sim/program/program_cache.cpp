#include "sim/program/program_cache.hpp"

#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/scenario/same_cluster.hpp"
#include "sim/scenario/same_parts.hpp"

namespace lockstep::sim::program {
namespace {

constexpr std::size_t kMostCosts = 256, kMostPlans = 1024;

}  // namespace

ModelCost ProgramCache::find_model_cost(const Scenario& scenario, int batch_per_gpu) {
  const bool is_known = of_costs_ && &of_costs_->layers.get() == &scenario.model.layers.get() &&
                        is_same_compute(of_costs_->compute, scenario.compute) &&
                        is_same_cluster(of_costs_->cluster, scenario.cluster);
  if (!is_known) {
    costs_.clear();
    of_costs_ = ComputeFacts{scenario.model.layers, scenario.cluster, scenario.compute};
  }
  const auto known = costs_.find(batch_per_gpu);
  if (known != costs_.end()) return known->second;
  if (costs_.size() >= kMostCosts) costs_.clear();
  return costs_.emplace(batch_per_gpu, model_cost(scenario, batch_per_gpu)).first->second;
}

AllReduce ProgramCache::remember_all_reduce(const Scenario& scenario) {
  const bool is_known = of_plans_ && is_same_communication(of_plans_->communication, scenario.communication) &&
                        is_same_compute(of_plans_->compute, scenario.compute) &&
                        is_same_cluster(of_plans_->cluster, scenario.cluster);
  if (!is_known) {
    plans_.clear();
    of_plans_ = CollectiveFacts{scenario.cluster, scenario.communication, scenario.compute};
    all_reduce_ = all_reduce_of(scenario);
  }
  return [this](int gpus, std::int64_t bytes) {
    const std::pair<int, std::int64_t> key{gpus, bytes};
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    if (plans_.size() >= kMostPlans) plans_.clear();
    return plans_.emplace(key, all_reduce_(gpus, bytes)).first->second;
  };
}

}  // namespace lockstep::sim::program
