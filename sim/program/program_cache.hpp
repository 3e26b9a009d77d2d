#pragma once
// Keeps parts of programs for the next point, which often needs the same ones: costs of layers, plans of collectives.
#include <map>
#include <optional>
#include <utility>

#include "sim/cost/layer_cost.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::program {

class ProgramCache {
 public:
  /// Returns model_cost(). Keeps the costs of many batches for the latest model, GPU and compute settings.
  ModelCost find_model_cost(const Scenario& scenario, int batch_per_gpu);
  /// Returns all_reduce_of(). Keeps the plans of the latest cluster and communication settings. The function must not
  /// outlive the cache.
  AllReduce remember_all_reduce(const Scenario& scenario);

 private:
  struct ComputeFacts {
    SharedVector<model::Layer> layers;
    ClusterSpec cluster;
    ComputeSpec compute;
  };
  struct CollectiveFacts {
    ClusterSpec cluster;
    CommunicationSpec communication;
    ComputeSpec compute;  // its profile may have measured all-reduces
  };
  std::optional<ComputeFacts> of_costs_;
  std::map<int, ModelCost> costs_;  // by batch
  std::optional<CollectiveFacts> of_plans_;
  AllReduce all_reduce_;
  std::map<std::pair<int, std::int64_t>, Plan> plans_;  // by number of GPUs and bytes
};

}  // namespace lockstep::sim::program
