#pragma once
// Computes the seconds of the messages between the ranks of a split, on the links of their groups.
//
// Groups of a kind (all tensor groups, all data groups, ...) communicate at the same time. They share common links
// evenly, mainly the NICs of a node. The closed form of sim/replay computes this over the messages of all groups at
// once.
//
//   `ring`        Rounds of n neighbours, each as long as its slowest message. An all-reduce of S bytes has 2 (n-1)
//                 rounds of S/n, reduce-scatter and all-gather n-1.
//   `nccl`        NCCL's cost model (sim/collective/nccl.hpp) on a machine with the group's nodes, its members on each,
//                 and their share of the node's NICs. The links also need time for a ring over all members of a node in
//                 parallel; the longer time counts. If NCCL sees no switch in a node and a group holds a part of the
//                 node, only that ring counts.
//   `all-to-all`  Each member sends to the others of its node and to those of other nodes at once, to these with
//                 /communication/nccl/all_to_all_share of the NICs' bandwidth.
//   `dispatch`    Each member sends a token once to each other node with its experts, to the member with the same
//                 position there. That member sends it on within the node, while other tokens arrive.
//   `send`        From stage to stage, or around the context ring.
//
// A group may have different numbers of members on its nodes. It then has as many parallel rings as the node with the
// fewest members has, because these members have no NICs for more. An all-to-all is modelled with one member per node.
// If units of the cluster are interchangeable (Cluster::gpus_of_unit()), a few replicas represent all
// (representative_replicas.hpp). A split over a million GPUs then takes no longer than one over a hundred.
#include <map>
#include <optional>
#include <vector>

#include "sim/collective/nccl.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/split/ranks.hpp"
#include "sim/split/traffic.hpp"

namespace lockstep::sim::replica {

/// Messages of the same size that all begin at once. seconds() is the time of the slowest one, for `bytes` each.
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
  const NcclSystem& system() const { return system_; }

 private:
  NcclSystem system_;
  mutable std::map<std::pair<NcclOperation, std::int64_t>, NcclTime> known_;
};

struct GroupLinks {
  int ranks = 1;
  int nodes = 1;                         ///< of a group
  int on_node = 1;                       ///< members of a group on each; 1 if their numbers differ
  int rings = 1;                         ///< over all nodes side by side: the fewest members of a group on a node
  int most_nodes = 1, most_on_node = 1;  ///< the most of any group
  Flows ring;                            ///< from member to member, around
  Flows within;                          ///< from member to member of a node, around
  Flows between;                         ///< from each member to its like on the next node, around
  Flows across;                          ///< likewise, from `rings` members of each node
  double all_to_all_share = 1;           ///< of the bandwidth of `between` that all-to-alls reach
  std::optional<NcclChoices> nccl;
};

class SplitLinks {
 public:
  /// `cluster` has the scenario's message overheads; `spec.data` is filled in. Derives the loads of links from
  /// the messages of `replicas` replicas; default: representative_replicas().
  SplitLinks(const Scenario& scenario, const Cluster& cluster, const ParallelSpec& spec,
             std::optional<int> replicas = {});

  /// Returns the seconds of all repetitions (`times`).
  double seconds(const Traffic& traffic, const Perturbation& perturbation = {}) const;
  double seconds(const TrafficList& list, const Perturbation& perturbation = {}) const;
  /// Returns the factor by which computing takes longer while the exchange runs. It is /compute/overlap_slowdown over
  /// the share of the multiprocessors that the exchange's kernel leaves. Each of NCCL's thread blocks holds a
  /// multiprocessor, all of them at most half of the GPU. The share is 1 without NCCL, or if the scenario gives no
  /// multiprocessors.
  double slowdown(const Traffic& traffic) const;
  const GroupLinks& of(TrafficGroup group) const { return links_.at(group); }

 private:
  /// Returns the seconds of one repetition, without the time on the processor.
  double seconds_of_one(const Traffic& traffic, const Perturbation& perturbation) const;

  std::map<TrafficGroup, GroupLinks> links_;
  bool is_nccl_;
  int multiprocessors_;  ///< of a GPU; 0: not given
  double slowdown_;
};

/// Returns the seconds of an all-to-all's messages between nodes.
double all_to_all_between_s(const GroupLinks& links, double bytes, const Perturbation& perturbation = {});
/// The seconds for which a dispatch copies tokens within a node, if its kernels limit it (dispatch_bytes_per_s()).
double dispatch_copies_s(const GroupLinks& links, const Traffic& dispatch);
/// Divides the members of a group by node.
std::vector<RankGroup> by_node(const RankGroup& group, int gpus_per_node);
/// Converts a collective that NCCL's tables have; throws std::logic_error for others.
NcclOperation nccl_operation(TrafficKind kind);
/// Returns the number of ranks in each group of this kind.
int count_group_ranks(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec);
/// Returns all groups of a kind; none for neighbours.
std::vector<RankGroup> groups_of(TrafficGroup group, const RankOrder& order, const ParallelSpec& spec);

}  // namespace lockstep::sim::replica
