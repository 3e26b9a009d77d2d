#pragma once
// Seconds of what the ranks of a split send one another, on the links that their groups have.
//
// Groups of a kind (all tensor groups, all data groups, ...) do the same at the same time: what they have in common, a
// node's NICs above all, they share evenly, by the closed form of sim/replay over the messages of all groups at once.
//
//   ring      rounds of n neighbours, each as long as its slowest message: all-reduce 2 (n-1) rounds of S/n, reduce-scatter
//             and all-gather n-1; S the whole vector
//   nccl      NCCL's cost model (sim/collective/nccl.hpp) on a machine with the group's nodes, its members on each, and the
//             share of a node's NICs that is theirs; no sooner than the links carry the bytes of a ring over all members
//             of a node side by side. Where NCCL sees no switch in a node and a group holds a part of it, that ring alone.
//   all-to-all   each member's bytes to the others of its node and to those of other nodes, at once
//   send      from stage to stage, or around the context ring
//
// A group with different numbers of members on its nodes is modelled with one member per node. Where units of the cluster
// are interchangeable (Cluster::gpus_of_unit()), a few replicas represent all (representative_replicas.hpp): a split over a
// million GPUs takes no longer than one over a hundred.
#include <map>
#include <optional>
#include <vector>

#include "sim/collective/nccl.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/split/ranks.hpp"
#include "sim/split/traffic.hpp"

namespace lockstep::sim::replica {

/// Messages that all begin together: the slowest one's time, for so many bytes each.
class Flows {
 public:
  Flows() = default;
  Flows(const Transfers::Block& transfers, const Cluster& cluster);  ///< of any bytes, all the same
  double seconds(double bytes, const Perturbation& perturbation) const;

 private:
  void add(const PlanCosts::Flow& flow);
  std::vector<PlanCosts::Flow> flows_;  // transfer of one byte
};

/// NCCL's choice on one system, each computed once. Not for several threads at a time.
class NcclChoices {
 public:
  explicit NcclChoices(NcclSystem system) : system_(std::move(system)) {}
  const NcclTime& choice(NcclOperation operation, std::int64_t bytes) const;

 private:
  NcclSystem system_;
  mutable std::map<std::pair<NcclOperation, std::int64_t>, NcclTime> known_;
};

struct GroupLinks {
  int ranks = 1;
  int nodes = 1;    ///< of a group
  int on_node = 1;  ///< members of a group on each
  Flows ring;       ///< from member to member, around
  Flows within;     ///< from member to member of a node, around
  Flows between;    ///< from each member to its like on the next node, around
  std::optional<NcclChoices> nccl;
};

class SplitLinks {
 public:
  /// `cluster` has the scenario's message overheads; `spec.data` is filled in. Derives the loads of links from
  /// the messages of `replicas` replicas; default: representative_replicas().
  SplitLinks(const Scenario& scenario, const Cluster& cluster, const ParallelSpec& spec,
             std::optional<int> replicas = {});

  /// Of all its times.
  double seconds(const Traffic& traffic, const Perturbation& perturbation = {}) const;
  double seconds(const TrafficList& list, const Perturbation& perturbation = {}) const;
  const GroupLinks& of(TrafficGroup group) const { return links_.at(group); }

 private:
  double once_s(const Traffic& traffic, const Perturbation& perturbation) const;

  std::map<TrafficGroup, GroupLinks> links_;
  bool is_nccl_;
};

/// Of a collective that NCCL's tables have; throws std::logic_error of others.
NcclOperation nccl_operation(TrafficKind kind);
/// Number of ranks in each group of this kind.
int count_group_ranks(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec);
/// All groups of a kind; of neighbours none.
std::vector<RankGroup> groups_of(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec);

}  // namespace lockstep::sim::replica
