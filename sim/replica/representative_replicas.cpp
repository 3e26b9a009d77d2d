#include "sim/replica/representative_replicas.hpp"

#include "sim/split/ranks.hpp"

namespace lockstep::sim::replica {

int representative_replicas(const ParallelSpec& spec, int gpus_of_unit) {
  const int apart = RankOrder(spec).stride(ParallelDimension::data), experts = spec.expert_replicas();
  // GPUs that stand together from the first to the last replica.
  const auto together = [&](int replicas) { return apart * (replicas / experts); };
  if (together(spec.data) % gpus_of_unit != 0) return spec.data;
  // An expert's copies add its gradients up: two of them at least.
  for (int replicas = 2 * experts; replicas < spec.data; replicas += experts) {
    const bool is_whole = spec.data % replicas == 0 && together(replicas) % gpus_of_unit == 0;
    const bool has_shards = spec.sharding_group == 0 || replicas * spec.context % spec.sharding_group == 0;
    const bool has_copies = spec.sharding_group == 0 || replicas * spec.context >= 2 * spec.sharding_group;
    if (is_whole && has_shards && has_copies && together(replicas) >= 2 * gpus_of_unit) return replicas;
  }
  return spec.data;
}

}  // namespace lockstep::sim::replica
