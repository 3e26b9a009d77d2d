#include "sim/replica/program.hpp"

namespace lockstep::sim {
inline namespace replica {

int telling_replicas(const Scenario& scenario, const SplitJob& job) {
  const ParallelSpec& all = job.spec;
  const int per_node = scenario.cluster.gpus_per_node;
  // GPUs that stand together from the first to the last replica.
  const auto together = [&](int replicas) {
    return RankOrder(all).stride(ParallelDimension::data) * (replicas / all.expert);
  };
  if (scenario.cluster.fabric.kind != FabricKind::star || together(all.data) % per_node != 0) return all.data;
  for (int replicas = all.expert; replicas < all.data; replicas += all.expert) {
    const bool is_whole = all.data % replicas == 0 && together(replicas) % per_node == 0;
    const bool has_shards = all.sharding_group == 0 || replicas * all.context % all.sharding_group == 0;
    const bool has_copies = all.sharding_group == 0 || replicas * all.context >= 2 * all.sharding_group;
    if (is_whole && has_shards && has_copies && replicas > 1 && together(replicas) >= 2 * per_node) return replicas;
  }
  return all.data;
}

}  // namespace replica
}  // namespace lockstep::sim
