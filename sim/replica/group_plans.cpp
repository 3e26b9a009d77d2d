#include "sim/replica/group_plans.hpp"

#include <cmath>

#include "engine/base/index.hpp"

namespace lockstep::sim::replica {
namespace {

constexpr double kAtOnce_s = 1e-15;  // of a barrier, because an operation must take some time

std::int64_t whole(double bytes) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(bytes)));
}

int rounds_of(TrafficKind kind, int ranks) {
  return (kind == TrafficKind::all_reduce ? 2 : 1) * (ranks - 1);
}

void ring(const RankGroup& members, std::int64_t bytes, Transfers::Block& block) {
  for (std::size_t i = 0; i < members.size(); ++i)
    block.push_back({members[i], members[(i + 1) % members.size()], bytes});
}

void everyone_to_everyone(const RankGroup& members, std::int64_t bytes, Transfers::Block& block) {
  for (int from : members)
    for (int to : members)
      if (from != to) block.push_back({from, to, bytes});
}

// All exchanges of the ranks: rings around each node, and from each member to its counterpart on the next node.
void around_nodes(const RankGroup& members, int gpus_per_node, double bytes, Transfers::Block& block) {
  const std::vector<RankGroup> nodes = by_node(members, gpus_per_node);
  for (const RankGroup& here : nodes)
    if (here.size() > 1) ring(here, whole(bytes), block);
  for (std::size_t i = 0; nodes.size() > 1 && i < nodes.size(); ++i) {
    const RankGroup &here = nodes[i], &next = nodes[(i + 1) % nodes.size()];
    for (std::size_t j = 0; j < here.size(); ++j)
      block.push_back({here[j], next[j % next.size()], whole(bytes / static_cast<double>(here.size()))});
  }
}

// Sends tokens to the GPUs in the same place on other nodes. All that arrive on a GPU, and its own, go on to the others of
// its node.
void dispatch(const RankGroup& members, int gpus_per_node, const Traffic& traffic, Transfers::Block& block) {
  const std::vector<RankGroup> nodes = by_node(members, gpus_per_node);
  const auto count = static_cast<int>(nodes.size());
  const std::int64_t to_node = whole(dispatched_bytes(traffic, count));
  const std::int64_t passed_on = whole(count * dispatched_bytes(traffic, traffic.ranks));
  for (const RankGroup& here : nodes) {
    everyone_to_everyone(here, passed_on, block);
    for (const RankGroup& there : nodes)
      for (std::size_t i = 0; &there != &here && i < here.size(); ++i)
        block.push_back({here[i], there[i % there.size()], to_node});
  }
}

bool is_call(TrafficKind kind) {
  return kind != TrafficKind::send && kind != TrafficKind::all_to_all && kind != TrafficKind::dispatch;
}

}  // namespace

GroupPlans::GroupPlans(const Scenario& scenario, const ParallelSpec& spec, const SplitLinks& links)
    : links_(links),
      spec_(spec),
      order_(spec),
      gpus_per_node_(scenario.cluster.gpus_per_node),
      is_nccl_(scenario.communication.all_reduce == AllReduceKind::nccl) {}

int GroupPlans::stage_of(int rank) const {
  return order_.coordinates(rank)[ParallelDimension::pipeline];
}

std::vector<RankGroup> GroupPlans::groups_in(TrafficGroup group, int stage) const {
  std::vector<RankGroup> groups;
  for (RankGroup& members : groups_of(group, order_, spec_))
    if (group == TrafficGroup::embeddings || stage_of(members.front()) == stage) groups.push_back(std::move(members));
  return groups;
}

Plan GroupPlans::exchange(const Traffic& traffic, int stage) const {
  const int n = traffic.ranks;
  Plan plan{traffic.name.text(), order_.ranks(), whole(traffic.bytes), {}};
  Transfers::Block block;
  int rounds = 1;
  const GroupLinks& links = links_.of(traffic.group);
  const bool is_of_model = is_nccl_ && is_call(traffic.kind) && links.nccl;
  for (const RankGroup& members : groups_in(traffic.group, stage)) {
    if (traffic.kind == TrafficKind::all_to_all) {
      everyone_to_everyone(members, whole(traffic.bytes / n), block);
    } else if (traffic.kind == TrafficKind::dispatch) {
      dispatch(members, gpus_per_node_, traffic, block);
    } else if (is_of_model) {
      around_nodes(members, gpus_per_node_, double(rounds_of(traffic.kind, n)) / n * traffic.bytes, block);
    } else {
      const bool is_send = traffic.kind == TrafficKind::send;
      rounds = is_send ? static_cast<int>(std::lround(traffic.times)) : rounds_of(traffic.kind, n);
      ring(members, whole(is_send ? traffic.bytes : traffic.bytes / n), block);
    }
  }
  plan.phases.edit().push_back({Transfers(std::move(block)), rounds});
  double least_s = traffic.kind == TrafficKind::dispatch ? dispatch_copies_s(links, traffic) : 0;
  if (traffic.kind == TrafficKind::all_to_all && links.all_to_all_share < 1)
    least_s = all_to_all_between_s(links, traffic.bytes);
  if (least_s > 0) plan.call = CallTime{0, least_s};
  if (!is_of_model) return plan;
  const NcclTime time = links.nccl->choice(nccl_operation(traffic.kind), static_cast<std::int64_t>(traffic.bytes));
  plan.call = CallTime{time.latency_s, traffic.bytes / time.bandwidth_bytes_per_s};
  return plan;
}

Plan GroupPlans::message(double bytes, int from_stage, int to_stage) const {
  const int stride = order_.stride(ParallelDimension::pipeline);
  Plan plan{"message", order_.ranks(), whole(bytes), {}};
  Transfers::Block block;
  for (int rank = 0; rank < order_.ranks(); ++rank)
    if (stage_of(rank) == from_stage) block.push_back({rank, rank + (to_stage - from_stage) * stride, whole(bytes)});
  plan.phases.edit().push_back({Transfers(std::move(block)), 1});
  return plan;
}

Plan GroupPlans::barrier() const {
  Plan plan{"barrier", order_.ranks(), 0, {}};
  plan.phases.edit().push_back({Transfers(), 1});
  plan.call = CallTime{0, kAtOnce_s};
  return plan;
}

}  // namespace lockstep::sim::replica
