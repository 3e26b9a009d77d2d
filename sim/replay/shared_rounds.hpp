#pragma once
// Replays plans whose messages meet on links, without their events. Fidelity "fast" does so if max-plus recurrences are
// not exact and there are too many messages to replay one by one (replay.hpp).
//
// A rank enters a round when it has left the one before. The bytes of a message begin to flow at S = max(x[src],
// x[dst]) + latency. Every link that a round's messages may fill is divided among them from moment to moment
// (processor_sharing.hpp), without regard to other links. This is done twice. At first no other link slows a flow. Then
// no flow is faster than the mean rate that its other links gave it. A message ends when the last of its links has
// carried it.
//
// Links of one GPU carry messages of one round at a time, because the GPU leaves a round when all its messages have
// ended. Links that GPUs share may carry several rounds. A round's messages share such a link with those of earlier
// rounds that still cross it. The earlier ones keep the mean rate that they had, so that a link never exceeds its
// bandwidth. The model neglects that later messages slow earlier ones. The rounds of a ring follow its recurrence
// (ring.hpp); each message takes as long as when all ranks send together.
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/block_shapes.hpp"
#include "sim/replay/link_owners.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/ring.hpp"
#include "sim/replay/round_layout.hpp"
#include "sim/replay/round_of_messages.hpp"

namespace lockstep::sim::replay {

class SharedPlan {
 public:
  /// Reducing messages run at most at `reduction_rate` (bytes/s, 0: no limit). `alike`: another plan between the same
  /// ranks (block_shapes.hpp), without a library operation; reuses its shape.
  SharedPlan(const Plan& plan, const Cluster& cluster, double reduction_rate, RoundOfMessages& round,
             const SharedPlan* alike = nullptr);
  /// True if every link that may be filled carries messages from or to only one rank.
  bool has_own_links() const { return has_own_links_; }
  /// All participating ranks are from first_rank() to the next, exclusive.
  int first_rank() const { return first_rank_; }
  int end_rank() const { return end_rank_; }
  /// times_s: on entry, when each rank arrives; on return, when it leaves. Records exchanges of the timelines' GPUs in
  /// the work.
  void run(std::vector<double>& times_s, RoundOfMessages& round, std::int64_t& events, int work,
           std::vector<GpuTimeline>& timelines) const;

 private:
  // Messages without their bytes.
  struct Shape {
    std::vector<int> src, dst;
    std::vector<double> latency_s, bytes_per_s;  // of the route
    std::vector<std::uint32_t> first_link;       // by message, in `links`; then the end of the last
    std::vector<int> links;                      // links that may be filled
  };
  struct Block {
    std::shared_ptr<const Shape> shape;
    std::shared_ptr<const Transfers::Block> transfers;
  };
  struct Step {
    std::vector<Block> blocks;
    std::vector<Ring> rings;  // if the rounds are rings
    int rounds;
    std::shared_ptr<const RoundLayout> layout;
  };
  Shape shape_of(const Transfers::Block& transfers, const Cluster& cluster, const std::vector<bool>& shared,
                 LinkOwners& owners, RoundOfMessages& round);
  void run_step(const Step& step, std::vector<double>& times_s, RoundOfMessages& round, std::int64_t& events) const;
  static bool has_empty_messages(const Step& step);
  static RoundLayout layout_of(const Step& step, int ranks, const Cluster& cluster);
  void find_ends(const Step& step, const std::vector<double>& times_s, RoundOfMessages& round) const;
  template <typename Visit>
  static void for_messages(const Step& step, RoundOfMessages& round, Visit&& visit);
  static void note(const Step& step, const std::vector<double>& entered_s, const std::vector<double>& times_s, int work,
                   std::vector<GpuTimeline>& timelines);

  double reduction_rate_;
  double call_transfer_s_ = 0;
  std::vector<Step> steps_;
  int first_rank_ = 0, end_rank_ = 0;
  bool has_own_links_ = true;
  double call_s_ = -1;  // of a library operation, from the last arrival; below 0: not an operation
};

}  // namespace lockstep::sim::replay
