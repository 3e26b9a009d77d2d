#include "sim/replica/program.hpp"

namespace lockstep::sim::replica {

int representative_replicas(const Scenario& scenario, const SplitJob& job) {
  const ParallelSpec& all = job.spec;
  const int per_node = scenario.cluster.gpus_per_node;
  // GPUs that stand together from the first to the last replica.
  const auto together = [&](int replicas) {
    return RankOrder(all).stride(ParallelDimension::data) * (replicas / all.expert_replicas());
  };
  if (scenario.cluster.fabric.kind != FabricKind::star || together(all.data) % per_node != 0) return all.data;
  // An expert's copies add its gradients up: two of them at least.
  for (int replicas = 2 * all.expert_replicas(); replicas < all.data; replicas += all.expert_replicas()) {
    const bool is_whole = all.data % replicas == 0 && together(replicas) % per_node == 0;
    const bool has_shards = all.sharding_group == 0 || replicas * all.context % all.sharding_group == 0;
    const bool has_copies = all.sharding_group == 0 || replicas * all.context >= 2 * all.sharding_group;
    if (is_whole && has_shards && has_copies && together(replicas) >= 2 * per_node) return replicas;
  }
  return all.data;
}

double events_of(const Program& program) {
  return program.messages_per_iteration() +
         static_cast<double>(program.work.size()) * program.gpus / program.iterations;
}

}  // namespace lockstep::sim::replica
