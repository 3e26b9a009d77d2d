#pragma once
// The max-plus form of plans: see replay.hpp, fidelity "fast".
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/ring.hpp"

namespace lockstep::sim {
inline namespace replay {

/// Who may meet on which link, over all plans of a program; finds out whether flows ever do.
class LinkUse {
 public:
  explicit LinkUse(const Cluster& cluster) : cluster_(cluster) {}
  const Cluster& cluster() const { return cluster_; }
  /// The flow of a pair of GPUs, registered on first sight.
  int flow(int src, int dst);
  double latency_s(int flow) const { return flows_[static_cast<std::size_t>(flow)].latency_s; }
  double bandwidth(int flow) const { return flows_[static_cast<std::size_t>(flow)].bandwidth; }
  /// A flow of its own, beside those of pairs of GPUs.
  int other_flow(const Route& route);
  /// What a library's call sends (Plan::call), each transfer at the rate that the call's time leaves it. Without it calls
  /// are taken to meet nothing.
  void add_call(const Plan& plan);
  /// After all flows are known: links whose flows together could exceed the capacity are contested.
  void find_contested_links();
  /// Flows of one round, all active at once: false once they exceed a link. Ends with end_round().
  bool join_round(const std::vector<int>& flows);
  void end_round();
  bool is_contested(int flow) const { return flows_[static_cast<std::size_t>(flow)].is_contested; }
  /// Notes that a flow was active in [start, end]; false when another flow was so on one of its contested links.
  bool occupy(int flow, double start_s, double end_s);

 private:
  struct Flow {
    double latency_s;
    double bandwidth;
    std::uint32_t first_link;  // in links_
    std::uint16_t links;
    bool is_contested;
  };
  struct Occupied {
    int flow = -1;
    double from_s = 0;
    double until_s = 0;
  };
  template <typename Do>
  void for_contested_links(int flow, Do&& what);

  const Cluster& cluster_;
  Route route_;  // its memory is used again
  std::unordered_map<std::uint64_t, int> index_;
  std::vector<Flow> flows_;
  std::vector<int> links_;          // of all flows
  std::vector<bool> is_contested_;  // by link
  std::vector<Occupied> occupied_;  // by link
  std::vector<double> load_;        // by link, of the round's flows
  std::vector<int> loaded_;         // links
};

/// A plan with its transfers' times on a cluster; reducing transfers run at `reduction_rate` (bytes/s, 0: no limit) at
/// most.
class MaxPlusPlan {
 public:
  MaxPlusPlan(const Plan& plan, LinkUse& links, double reduction_rate);
  /// Call after LinkUse::find_contested_links, before the rest.
  void find_contested(const LinkUse& links);
  /// False when the messages of a round share a link.
  bool fits(LinkUse& links) const;
  /// times_s: in, when each rank arrives; out, when it leaves. False when flows met on a link.
  bool run(std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const;
  /// The same, noting what the timelines' GPUs exchange in this piece of work.
  bool run_noting(std::vector<double>& times_s, LinkUse& links, std::int64_t& events, int work,
                  std::vector<GpuTimeline>& timelines) const;

 private:
  // Transfers that steps may have in common.
  struct Block {
    std::vector<int> src, dst, flow;
    std::vector<std::int64_t> bytes;
    std::vector<double> duration_s;
    std::vector<int> members;    // ranks that take part
    std::vector<int> contested;  // transfers whose flow is
  };
  struct Step {
    std::vector<std::shared_ptr<Block>> blocks;
    std::vector<Ring> rings;  // all that the step is, where it is rings
    int rounds = 1;
  };
  static Block compiled(const Transfers::Block& transfers, LinkUse& links, double reduction_rate);
  bool run_step(const Step& step, std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const;
  static std::int64_t run_general(const Step& step, std::vector<double>& times_s);

  std::vector<Step> steps_;
  bool repeats_a_pair_ = false;  // some round has two messages of one sender to one receiver
  std::optional<CallOnCluster> call_;
};

}  // namespace replay
}  // namespace lockstep::sim
