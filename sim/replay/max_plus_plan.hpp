#pragma once
// The max-plus form of plans; replay.hpp describes it under fidelity `fast`.
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/block_shapes.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/link_owners.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/ring.hpp"

namespace lockstep::sim::replay {

/// Checks whether messages of different rounds meet on a link, over all plans of a program. The messages of each round
/// must fit on their links (rounds_fit.hpp).
class LinkUse {
 public:
  explicit LinkUse(const Cluster& cluster) : cluster_(cluster) {}
  const Cluster& cluster() const { return cluster_; }
  /// The flow from one GPU to another, registered at the first call.
  int flow(int src, int dst);
  double latency_s(int flow) const { return flows_[static_cast<std::size_t>(flow)].latency_s; }
  double bandwidth(int flow) const { return flows_[static_cast<std::size_t>(flow)].bandwidth; }
  /// Adds a flow for this route alone, in addition to those of pairs of GPUs.
  int other_flow(const Route& route) { return add_flow(route, LinkOwners::kNobody, LinkOwners::kNobody); }
  /// Adds the messages of a library operation (Plan::call), each transfer at the rate that fits the operation's time.
  /// An operation that is not added is assumed to meet no other message.
  void add_call(const Plan& plan);
  /// Call it when all flows are known. Marks links as contested if their flows together could exceed the capacity.
  void find_contested_links();
  bool is_contested(int flow) const { return flows_[static_cast<std::size_t>(flow)].is_contested; }
  /// True if the flow crosses a contested link on which rounds may meet.
  bool is_watched(int flow) const { return flows_[static_cast<std::size_t>(flow)].is_watched; }
  /// Records that a flow was active in [start, end]. Returns false if another flow was active then on one of its
  /// watched links.
  bool occupy(int flow, double start_s, double end_s);

 private:
  struct Flow {
    double latency_s;
    double bandwidth;
    int src, dst;
    std::uint32_t first_link;  // in links_
    std::uint16_t links;
    bool is_contested, is_watched;
  };
  struct Occupied {
    int flow = -1;
    double from_s = 0;
    double until_s = 0;
  };
  int add_flow(const Route& route, int src, int dst);

  const Cluster& cluster_;
  Route route_;                                     // kept to reuse its memory
  std::unordered_map<std::uint64_t, int> flow_of_;  // by pair of GPUs
  std::vector<Flow> flows_;
  std::vector<int> links_;          // of all flows
  std::vector<bool> is_watched_;    // by link
  std::vector<Occupied> occupied_;  // by link
};

/// Describes transfers between ranks, without their bytes.
struct MaxPlusShape {
  std::vector<int> src, dst;
  std::vector<double> latency_s, bandwidth;
  std::vector<int> flow;
  std::vector<int> members;  // ranks that take part
  std::vector<int> watched;  // transfers whose flow is watched
};
using MaxPlusShapes = ByShape<MaxPlusShape>;

/// A plan with its transfers' times on a cluster. Reducing transfers run at most at `reduction_rate` (bytes/s, 0: no
/// limit).
class MaxPlusPlan {
 public:
  MaxPlusPlan(const Plan& plan, LinkUse& links, MaxPlusShapes& shapes, double reduction_rate);
  /// A library operation. `units`: of plans that include it.
  MaxPlusPlan(const Plan& call, const Cluster& cluster, const UnitClasses& units);
  /// Call this after LinkUse::find_contested_links(), and before all other members.
  void find_watched(const LinkUse& links);
  /// False for a library operation whose messages do not fit on their links: its time is unknown.
  bool has_time() const { return !call_ || call_->fits; }
  /// The library operation that the plan is; nullptr if it is none. All ranks leave it together.
  const CallOnCluster* call() const { return call_ ? &*call_ : nullptr; }
  /// times_s: on entry, when each rank arrives; on return, when it leaves. Returns false if flows met on a link.
  bool run(std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const;
  /// Also records the exchanges of the timelines' GPUs in this piece of work.
  bool run_noting(std::vector<double>& times_s, LinkUse& links, std::int64_t& events, int work,
                  std::vector<GpuTimeline>& timelines) const;

 private:
  // Transfers that several steps may share.
  struct Block {
    std::shared_ptr<MaxPlusShape> shape;
    std::shared_ptr<const Transfers::Block> transfers;
  };
  struct Step {
    std::vector<Block> blocks;
    std::vector<Ring> rings;  // all of the step's transfers, if they form rings
    int rounds = 1;
  };
  static MaxPlusShape shape_of(const Transfers::Block& transfers, LinkUse& links);
  template <typename Do>
  void for_transfers(const Block& block, Do&& what) const;
  bool run_step(const Step& step, std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const;
  std::int64_t run_general(const Step& step, std::vector<double>& times_s) const;

  double reduction_rate_ = 0;
  std::vector<Step> steps_;
  std::optional<CallOnCluster> call_;
};

}  // namespace lockstep::sim::replay
