#include "sim/replica/split_links.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/replica/representative_replicas.hpp"

namespace lockstep::sim::replica {
namespace {

constexpr std::int64_t kUnit = 1'000'000'000;  // bytes by which flows are found

// Collects the pieces into which `cut` divides every group.
template <class Cut>
std::vector<RankGroup> pieces(const std::vector<RankGroup>& groups, const Cut& cut) {
  std::vector<RankGroup> all;
  for (const RankGroup& group : groups) cut(group, all);
  return all;
}

std::vector<RankGroup> shards_of(const std::vector<RankGroup>& groups, std::size_t size) {
  return pieces(groups, [size](const RankGroup& group, std::vector<RankGroup>& all) {
    for (std::size_t i = 0; i < group.size(); i += size)
      all.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(i),
                       group.begin() + static_cast<std::ptrdiff_t>(i + size));
  });
}

std::vector<RankGroup> copies_of(const std::vector<RankGroup>& groups, std::size_t size) {
  return pieces(groups, [size](const RankGroup& group, std::vector<RankGroup>& all) {
    for (std::size_t i = 0; i < size; ++i) {
      all.emplace_back();
      for (std::size_t j = i; j < group.size(); j += size) all.back().push_back(group[j]);
    }
  });
}

std::vector<RankGroup> first_and_last(const std::vector<RankGroup>& pipelines) {
  return pieces(pipelines, [](const RankGroup& group, std::vector<RankGroup>& all) {
    all.push_back({group.front(), group.back()});
  });
}

// Stages s and p - 1 - s.
std::vector<RankGroup> mirrored(const std::vector<RankGroup>& pipelines) {
  return pieces(pipelines, [](const RankGroup& group, std::vector<RankGroup>& all) {
    for (std::size_t stage = 0; 2 * stage + 1 < group.size(); ++stage)
      all.push_back({group[stage], group[group.size() - 1 - stage]});
  });
}

void around(const RankGroup& members, Transfers::Block& block) {
  for (std::size_t i = 0; members.size() > 1 && i < members.size(); ++i)
    block.push_back({members[i], members[(i + 1) % members.size()], kUnit});
}

// Sends from each of the first `most` members of a node to the member in the same place on the next node.
void around_nodes(const std::vector<RankGroup>& nodes, std::size_t most, Transfers::Block& block) {
  for (std::size_t i = 0; nodes.size() > 1 && i < nodes.size(); ++i) {
    const RankGroup& next = nodes[(i + 1) % nodes.size()];
    for (std::size_t j = 0; j < std::min(most, nodes[i].size()); ++j)
      block.push_back({nodes[i][j], next[j % next.size()], kUnit});
  }
}

// A machine of the group's nodes, with its members alone on each and their share of the NICs.
std::optional<NcclChoices> nccl_of_group(const Scenario& scenario, const GroupLinks& links, int gpus) {
  ClusterSpec part = scenario.cluster;
  const bool is_whole = links.most_nodes == 1 || links.on_node == part.gpus_per_node;
  const bool is_switch = part.intra_node.kind == IntraNodeKind::nvswitch;
  if (!is_whole && !is_switch && links.most_on_node > 1) return std::nullopt;
  double share = 1;  // of one NIC
  if (!is_whole) {
    const double nics = double(part.nic.per_node) * links.rings / part.gpus_per_node;
    part.gpus_per_node = (links.ranks + links.most_nodes - 1) / links.most_nodes;
    part.intra_node.kind = IntraNodeKind::nvswitch;
    part.nic.per_node = std::max(1, static_cast<int>(nics));
    part.nic.attach.clear();
    share = std::min(1.0, nics);
  }
  NcclSpec spec = scenario.communication.nccl;
  spec.measured.clear();
  spec.measured_between_nodes.clear();
  NcclSystem system = nccl_system(part, spec, links.ranks);
  if (system.nodes > 1)
    for (NcclGraph* graph : {&system.ring, &system.tree, &system.nvls}) {
      graph->intra_bytes_per_s *= share;
      graph->inter_bytes_per_s *= share;
    }
  // Excess over NCCL's tables, as measured in collectives over the whole machine.
  const int of_machine = links.most_nodes > 1 ? gpus : std::min(gpus, scenario.cluster.gpus_per_node);
  const NcclSystem machine = nccl_system(scenario.cluster, scenario.communication.nccl, of_machine);
  system.latency_excess_s = machine.latency_excess_s;
  system.pass_excess_s = machine.pass_excess_s;
  system.bandwidth_factor = machine.bandwidth_factor;
  return NcclChoices(std::move(system));
}

// Links of groups of `ranks` members. `groups` represent them, and may have fewer members.
GroupLinks links_of(const std::vector<RankGroup>& groups, int ranks, const Scenario& scenario, const Cluster& cluster,
                    int gpus) {
  GroupLinks links;
  links.ranks = ranks;
  if (ranks == 1) return links;
  const int gpus_per_node = scenario.cluster.gpus_per_node;
  Transfers::Block ring, within, between, across;
  std::size_t fewest = to_index(gpus_per_node), most = 0;  // fewest and most members of one group on one node
  std::vector<std::vector<RankGroup>> nodes_of_groups;
  for (const RankGroup& group : groups) {
    const std::vector<RankGroup> nodes = by_node(group, gpus_per_node);
    around(group, ring);
    for (const RankGroup& members : nodes) {
      around(members, within);
      fewest = std::min(fewest, members.size());
      most = std::max(most, members.size());
    }
    around_nodes(nodes, most, between);
    const std::size_t nodes_of_all = (to_index(ranks) * nodes.size() + group.size() - 1) / group.size();
    links.most_nodes = std::max(links.most_nodes, static_cast<int>(nodes_of_all));
    nodes_of_groups.push_back(nodes);
  }
  if (fewest < most)
    for (const std::vector<RankGroup>& nodes : nodes_of_groups) around_nodes(nodes, fewest, across);
  links.rings = static_cast<int>(fewest);
  links.most_on_node = static_cast<int>(most);
  links.on_node = fewest == most && ranks % static_cast<int>(most) == 0 ? static_cast<int>(most) : 1;
  links.nodes = ranks / links.on_node;
  if (fewest == most) {
    links.most_nodes = links.nodes;
    links.rings = links.most_on_node = links.on_node;
  }
  links.ring = Flows(ring, cluster);
  links.within = Flows(within, cluster);
  links.between = Flows(between, cluster);
  links.across = fewest < most ? Flows(across, cluster) : links.between;
  if (scenario.communication.all_reduce != AllReduceKind::nccl) return links;
  links.nccl = nccl_of_group(scenario, links, gpus);
  links.all_to_all_share = scenario.communication.nccl.all_to_all_share;
  return links;
}

GroupLinks neighbours(const RankOrder& order, const Cluster& cluster) {
  GroupLinks links;
  links.ranks = 2;
  Transfers::Block block;
  const int stages = order.size(ParallelDimension::pipeline), stride = order.stride(ParallelDimension::pipeline);
  for (int rank = 0; rank < order.ranks(); ++rank)
    if (order.coordinates(rank)[ParallelDimension::pipeline] + 1 < stages)
      block.push_back({rank, rank + stride, kUnit});
  links.ring = Flows(block, cluster);
  return links;
}

bool is_all_reduce(TrafficKind kind) {
  return kind == TrafficKind::all_reduce;
}

double by_ring(const GroupLinks& links, TrafficKind kind, double bytes, const Perturbation& perturbation) {
  const int rounds = (is_all_reduce(kind) ? 2 : 1) * (links.ranks - 1);
  return rounds * links.ring.seconds(bytes / links.ranks, perturbation);
}

// Returns the time of the links: of each member within its node, and of each node if rings over all members run in
// parallel.
double by_links(const GroupLinks& links, TrafficKind kind, double bytes, bool adds_in_switch,
                const Perturbation& perturbation) {
  const double passed = (is_all_reduce(kind) ? 2.0 : 1.0) * (links.ranks - 1) / links.ranks * bytes;
  double seconds = 0;
  if (links.most_on_node > 1) seconds = links.within.seconds(adds_in_switch ? bytes : passed, perturbation);
  if (links.most_nodes > 1) seconds = std::max(seconds, links.across.seconds(passed / links.rings, perturbation));
  return seconds;
}

// Returns the time of parallel rings, one for each member of a node. by_links() includes the first round's latency.
double by_rings(const GroupLinks& links, TrafficKind kind, double bytes, const Perturbation& perturbation) {
  const int rounds = (is_all_reduce(kind) ? 2 : 1) * (links.ranks - 1);
  const double latency_s = std::max(links.within.seconds(0, perturbation), links.across.seconds(0, perturbation));
  return (rounds - 1) * latency_s + by_links(links, kind, bytes, false, perturbation);
}

double by_nccl(const GroupLinks& links, TrafficKind kind, double bytes, const Perturbation& perturbation) {
  const NcclTime& time = links.nccl->choice(nccl_operation(kind), static_cast<std::int64_t>(bytes));
  const bool adds_in_switch = time.algorithm == NcclAlgorithm::nvls || time.algorithm == NcclAlgorithm::nvls_tree;
  const double of_tables =
      time.latency_s * perturbation.latency + bytes / (time.bandwidth_bytes_per_s * perturbation.bandwidth);
  return std::max(of_tables, by_links(links, kind, bytes, adds_in_switch, perturbation));
}

double all_to_all_s(const GroupLinks& links, double bytes, const Perturbation& perturbation) {
  const double within = bytes * (links.on_node - 1) / links.ranks;
  const double within_s = links.on_node > 1 ? links.within.seconds(within, perturbation) : 0;
  return std::max(within_s, all_to_all_between_s(links, bytes, perturbation));
}

// Bytes that a GPU sends to the others of its node: of its own tokens and of those from its likes on other nodes.
double passed_on_bytes(const GroupLinks& links, const Traffic& dispatch) {
  return links.most_nodes * (links.most_on_node - 1) * dispatched_bytes(dispatch, links.ranks);
}

double dispatch_s(const GroupLinks& links, const Traffic& traffic, const Perturbation& perturbation) {
  double seconds = 0;
  if (links.most_on_node > 1) {
    seconds = std::max(links.within.seconds(passed_on_bytes(links, traffic), perturbation),
                       dispatch_copies_s(links, traffic) / perturbation.bandwidth);
  }
  if (links.most_nodes > 1) {
    const double between = (links.most_nodes - 1) * dispatched_bytes(traffic, links.most_nodes);
    seconds = std::max(seconds, links.between.seconds(between, perturbation));
  }
  return seconds;
}

}  // namespace

double all_to_all_between_s(const GroupLinks& links, double bytes, const Perturbation& perturbation) {
  if (links.nodes == 1) return 0;
  const double between = bytes * (links.ranks - links.on_node) / links.ranks;
  return links.between.seconds(between / links.all_to_all_share, perturbation);
}

double dispatch_copies_s(const GroupLinks& links, const Traffic& dispatch) {
  return dispatch.passed_on_per_s > 0 ? passed_on_bytes(links, dispatch) / dispatch.passed_on_per_s : 0;
}

std::vector<RankGroup> by_node(const RankGroup& group, int gpus_per_node) {
  std::map<int, RankGroup> nodes;
  for (int rank : group) nodes[rank / gpus_per_node].push_back(rank);
  std::vector<RankGroup> all;
  for (auto& [node, members] : nodes) all.push_back(std::move(members));
  return all;
}

NcclOperation nccl_operation(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::all_reduce:
      return NcclOperation::all_reduce;
    case TrafficKind::reduce_scatter:
      return NcclOperation::reduce_scatter;
    case TrafficKind::all_gather:
      return NcclOperation::all_gather;
    case TrafficKind::all_to_all:
    case TrafficKind::dispatch:
    case TrafficKind::send:
      break;
  }
  throw std::logic_error("no operation of NCCL's model");
}

const NcclTime& NcclChoices::choice(NcclOperation operation, std::int64_t bytes) const {
  const auto known = known_.find({operation, bytes});
  if (known != known_.end()) return known->second;
  return known_.emplace(std::make_pair(operation, bytes), nccl_choice(system_, operation, bytes)).first->second;
}

Flows::Flows(const Transfers::Block& transfers, const Cluster& cluster) {
  if (transfers.empty()) return;
  Plan plan{"", cluster.gpus(), kUnit, {{Transfers(transfers), 1}}};
  const PlanCosts costs = plan_costs(program_of_plan(plan, 0), cluster);
  for (const PlanCosts::Flow& flow : costs.phases.front().front().flows)
    add({flow.latency_s, flow.transfer_s / double(kUnit)});
}

// A flow that is nowhere slower than another one never counts.
void Flows::add(const PlanCosts::Flow& flow) {
  const auto hides = [](const PlanCosts::Flow& a, const PlanCosts::Flow& b) {
    return a.latency_s >= b.latency_s && a.transfer_s >= b.transfer_s;
  };
  if (std::any_of(flows_.begin(), flows_.end(), [&](const PlanCosts::Flow& other) { return hides(other, flow); }))
    return;
  flows_.erase(
      std::remove_if(flows_.begin(), flows_.end(), [&](const PlanCosts::Flow& other) { return hides(flow, other); }),
      flows_.end());
  flows_.push_back(flow);
}

double Flows::seconds(double bytes, const Perturbation& perturbation) const {
  double slowest = 0;
  for (const PlanCosts::Flow& flow : flows_)
    slowest =
        std::max(slowest, flow.latency_s * perturbation.latency + flow.transfer_s * bytes / perturbation.bandwidth);
  return slowest;
}

std::vector<RankGroup> groups_of(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec) {
  const auto shards = static_cast<std::size_t>(spec.ranks_of_sharding());
  switch (group) {
    case TrafficGroup::tensor:
      return order.groups({ParallelDimension::tensor});
    case TrafficGroup::context:
      return order.groups({ParallelDimension::context});
    case TrafficGroup::expert:
      return order.groups(expert_dimensions(spec));
    case TrafficGroup::gradients:
      return order.groups(kGradientDimensions);
    case TrafficGroup::expert_gradients:
      return order.groups(kExpertGradientDimensions);
    case TrafficGroup::shards:
      return shards_of(order.groups(kGradientDimensions), shards);
    case TrafficGroup::shard_copies:
      return copies_of(order.groups(kGradientDimensions), shards);
    case TrafficGroup::embeddings:
      return first_and_last(order.groups({ParallelDimension::pipeline}));
    case TrafficGroup::mirrored_stages:
      return mirrored(order.groups({ParallelDimension::pipeline}));
    case TrafficGroup::neighbour:
      break;
  }
  return {};
}

int count_group_ranks(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec) {
  const auto product = [&](const Dimensions& dimensions) {
    int ranks = 1;
    for (const ParallelDimension dimension : dimensions) ranks *= order.size(dimension);
    return ranks;
  };
  switch (group) {
    case TrafficGroup::tensor:
      return order.size(ParallelDimension::tensor);
    case TrafficGroup::context:
      return order.size(ParallelDimension::context);
    case TrafficGroup::expert:
      return product(expert_dimensions(spec));
    case TrafficGroup::gradients:
      return product(kGradientDimensions);
    case TrafficGroup::expert_gradients:
      return product(kExpertGradientDimensions);
    case TrafficGroup::shards:
      return spec.ranks_of_sharding();
    case TrafficGroup::shard_copies:
      return product(kGradientDimensions) / spec.ranks_of_sharding();
    case TrafficGroup::embeddings:
    case TrafficGroup::mirrored_stages:
    case TrafficGroup::neighbour:
      break;
  }
  return 2;
}

SplitLinks::SplitLinks(const Scenario& scenario, const Cluster& cluster, const ParallelSpec& spec,
                       std::optional<int> replicas)
    : is_nccl_(scenario.communication.all_reduce == AllReduceKind::nccl),
      multiprocessors_(scenario.cluster.gpu.multiprocessors),
      slowdown_(scenario.compute.overlap_slowdown.value_or(1)) {
  const RankOrder order(spec);
  ParallelSpec of_part = spec;
  of_part.data = replicas ? *replicas : representative_replicas(spec, cluster.gpus_of_unit());
  const RankOrder part(of_part);
  std::optional<Cluster> fewer;
  if (part.ranks() < cluster.gpus()) fewer.emplace(cluster.take_first_gpus(part.ranks()));
  const Cluster& machine = fewer ? *fewer : cluster;
  std::vector<TrafficGroup> kinds{TrafficGroup::tensor,      TrafficGroup::context,          TrafficGroup::expert,
                                  TrafficGroup::gradients,   TrafficGroup::expert_gradients, TrafficGroup::shards,
                                  TrafficGroup::shard_copies};
  if (spec.pipeline > 1) {
    kinds.push_back(TrafficGroup::embeddings);
    links_[TrafficGroup::neighbour] = neighbours(part, machine);
  }
  if (spec.has_two_copies()) kinds.push_back(TrafficGroup::mirrored_stages);
  for (TrafficGroup kind : kinds)
    links_[kind] = links_of(groups_of(kind, part, of_part), count_group_ranks(kind, order, spec), scenario, machine,
                            order.ranks());
}

double SplitLinks::seconds_of_one(const Traffic& traffic, const Perturbation& perturbation) const {
  const GroupLinks& links = of(traffic.group);
  switch (traffic.kind) {
    case TrafficKind::send:
      return links.ring.seconds(traffic.bytes, perturbation);
    case TrafficKind::all_to_all:
      return all_to_all_s(links, traffic.bytes, perturbation);
    case TrafficKind::dispatch:
      return dispatch_s(links, traffic, perturbation);
    case TrafficKind::all_reduce:
    case TrafficKind::reduce_scatter:
    case TrafficKind::all_gather:
      break;
  }
  if (links.nccl) return by_nccl(links, traffic.kind, traffic.bytes, perturbation);
  if (is_nccl_) return by_rings(links, traffic.kind, traffic.bytes, perturbation);
  return by_ring(links, traffic.kind, traffic.bytes, perturbation);
}

double SplitLinks::seconds(const Traffic& traffic, const Perturbation& perturbation) const {
  if (traffic.ranks == 1 || traffic.bytes <= 0) return 0;
  return traffic.times * (traffic.host_s * perturbation.latency + seconds_of_one(traffic, perturbation));
}

double SplitLinks::slowdown(const Traffic& traffic) const {
  const GroupLinks& links = of(traffic.group);
  if (traffic.ranks == 1 || traffic.bytes <= 0) return 1;
  if (!links.nccl) return slowdown_;
  const NcclTime& time = links.nccl->choice(nccl_operation(traffic.kind), static_cast<std::int64_t>(traffic.bytes));
  return slowdown_ * slowdown_by(thread_blocks(links.nccl->system(), time.algorithm), multiprocessors_);
}

double SplitLinks::seconds(const TrafficList& list, const Perturbation& perturbation) const {
  double sum = 0;
  for (const Traffic& traffic : list) sum += seconds(traffic, perturbation);
  return sum;
}

}  // namespace lockstep::sim::replica
