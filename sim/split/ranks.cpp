#include "sim/split/ranks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

std::map<int, int> members_by_node(const RankGroup& group, int gpus_per_node) {
  std::map<int, int> members;
  for (int rank : group) ++members[rank / gpus_per_node];
  return members;
}

}  // namespace

RankOrder::RankOrder(const ParallelSpec& spec) : order_(spec.order) {
  sizes_[ParallelDimension::tensor] = spec.tensor;
  sizes_[ParallelDimension::context] = spec.context;
  sizes_[ParallelDimension::expert] = spec.expert_replicas();
  sizes_[ParallelDimension::data] = spec.data / spec.expert_replicas();
  sizes_[ParallelDimension::pipeline] = spec.pipeline;
  for (ParallelDimension dimension : order_) {
    strides_[dimension] = ranks_;
    ranks_ *= sizes_[dimension];
  }
}

RankCoordinates RankOrder::coordinates(int rank) const {
  RankCoordinates coordinates;
  for (ParallelDimension d : order_) coordinates[d] = rank / strides_[d] % sizes_[d];
  return coordinates;
}

int RankOrder::rank(const RankCoordinates& coordinates) const {
  int rank = 0;
  for (ParallelDimension d : order_) rank += coordinates[d] * strides_[d];
  return rank;
}

RankGroup RankOrder::group(int rank, const Dimensions& dimensions) const {
  int first = rank;
  for (ParallelDimension d : dimensions) first -= coordinates(rank)[d] * strides_[d];
  RankGroup members{first};
  for (ParallelDimension d : dimensions) {
    const RankGroup before = members;
    for (int i = 1; i < sizes_[d]; ++i)
      for (int member : before) members.push_back(member + i * strides_[d]);
  }
  std::sort(members.begin(), members.end());
  return members;
}

std::vector<RankGroup> RankOrder::groups(const Dimensions& dimensions) const {
  std::vector<RankGroup> groups;
  for (int rank = 0; rank < ranks_; ++rank) {
    const RankCoordinates place = coordinates(rank);
    const bool is_first = std::all_of(dimensions.begin(), dimensions.end(),
                                      [&](ParallelDimension dimension) { return place[dimension] == 0; });
    if (is_first) groups.push_back(group(rank, dimensions));
  }
  return groups;
}

GroupPlacement placement(const RankGroup& group, int gpus_per_node) {
  GroupPlacement placement;
  placement.fewest_on_a_node = gpus_per_node;
  for (const auto& [node, members] : members_by_node(group, gpus_per_node)) {
    ++placement.nodes;
    placement.most_on_a_node = std::max(placement.most_on_a_node, members);
    placement.fewest_on_a_node = std::min(placement.fewest_on_a_node, members);
  }
  return placement;
}

std::vector<std::vector<int>> groups_of_nics(const std::vector<RankGroup>& groups, int gpus_per_node,
                                             int nics_per_node) {
  int last = -1;
  for (const RankGroup& group : groups) last = std::max(last, group.back());
  const int nodes = (last + gpus_per_node) / gpus_per_node;
  std::vector<std::vector<int>> of_nics(to_index(nodes * nics_per_node));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (placement(groups[g], gpus_per_node).is_within_node()) continue;
    std::set<int> nics;
    for (int rank : groups[g])
      nics.insert(rank / gpus_per_node * nics_per_node + rank % gpus_per_node * nics_per_node / gpus_per_node);
    for (int nic : nics) of_nics[to_index(nic)].push_back(static_cast<int>(g));
  }
  return of_nics;
}

}  // namespace lockstep::sim::split
