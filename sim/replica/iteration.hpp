#pragma once
// Computes one iteration of a split in closed form: passes of every stage, the pipeline's timeline, then the exchange
// between replicas.
//
// Pass of a block: The pass computes (rank_cost.hpp), then tensor and expert ranks communicate. Some communication
// overlaps computing, and only its excess counts:
// - Tensor ranks: The collectives that /parallel/tensor_overlap names. (t-1)/t of the GEMMs' time can hide them.
// - Context ring: It overlaps the attention. The last of its c steps needs no message.
// - Experts' all-to-alls: With /parallel/expert_overlap they overlap the whole pass of another micro-batch. A pass as
//   long as this one can hide them.
// - Sharding: With zero3 the block's weights are gathered during the pass. From zero2 on gradients are scattered during
//   the backward pass. The first gather of a forward pass is not hidden. If each matrix has its own collective
//   (/parallel/sharding_calls), none of this overlaps.
//
// Pipeline: sim/split/pipeline_timer.hpp, with the time that links need from stage to stage.
//
// Exchange: Gradients are exchanged bucket by bucket (/communication/fusion_threshold; at least a block), as the last
// backward pass of their chunk produces them. With /communication/overlap the exchanges run one after the other during
// that pass, otherwise after it. Then first and last stage exchange the gradients of the tied embedding.
//
// Slowdown: While weights or gradients are exchanged, passes compute more slowly (SplitLinks::slowdown()). A pass that
// needs c seconds alone takes c + (1 - 1/s) d, with s the slowdown and d the seconds of the exchange during the pass. In
// a pipeline, the delay of a stage's last pass does not delay the stages before it. A replay counts that delay, and the
// time in which an exchange waits for other ranks.
//
// Update: It starts when all stages have exchanged, because gradients are clipped by their norm over all.
//
// Weights: With zero1 and zero2 they are gathered before the next forward pass, or bucket by bucket during it with
// overlap.
// Compute jitter counts as its expected maximum over the GPUs, as everywhere in closed form. Different kinds of groups
// (of stages, of ranks, of the exchange) that send at the same time are assumed not to share links.
#include <memory>
#include <vector>

#include "sim/replica/rank_cost.hpp"
#include "sim/replica/split_links.hpp"
#include "sim/split/pipeline_timer.hpp"

namespace lockstep::sim::replica {

/// Seconds of a GPU per iteration, mean over the stages.
struct SplitSeconds {
  double compute_s = 0;  ///< passes and update
  double tensor_s = 0;   ///< waited for; likewise the next two
  double context_s = 0;
  double expert_s = 0;
  double sharding_s = 0;  ///< by which exchanges of zero2 and zero3 lengthen passes
  double update_s = 0;    ///< part of compute_s
};

struct SplitIteration {
  double iteration_s = 0;
  double pipeline_s = 0;          ///< from the start of the first pass to the end of the last
  double bubble_fraction = 0;     ///< share of it in which stages wait for others
  double exposed_exchange_s = 0;  ///< gradients after the last pass, weights before the first
  SplitSeconds of_gpu;
  double forward_s = 0, backward_s = 0;  ///< of a micro-batch through the slowest stage
  double message_s = 0;                  ///< from stage to stage
};

/// A pass, an exchange or an update of a stage's GPUs, in the closed form's iteration.
struct SplitSpan {
  enum class Kind { forward, backward, weight_gradient, exchange, update };
  Kind kind = Kind::forward;
  int stage = 0;
  int micro_batch = 0, chunk = 0;  ///< of passes
  double start_s = 0, end_s = 0;
};

class SplitModel {
 public:
  SplitModel(const Scenario& scenario, const Cluster& cluster, int gpus);
  /// Uses links and seconds that many splits share. Splits with the same ranks and sharding groups have the same links.
  SplitModel(const Scenario& scenario, int gpus, std::shared_ptr<const SplitLinks> links, RankSecondsOfSplits& seconds,
             PipelineTimers& timers);

  /// `slowest`: factor on compute times (expected_slowest()).
  SplitIteration iteration(double slowest, const Perturbation& perturbation = {});
  /// Returns the passes, exchanges and updates of that iteration, stage by stage. Communication that overlaps a pass,
  /// or is part of it, has no span. Throws InputError if there are more than about a million.
  std::vector<SplitSpan> spans(double slowest) const;
  const SplitJob& job() const { return job_; }
  const Scenario& scenario() const { return scenario_; }
  const RankSeconds& seconds() const { return *seconds_; }
  const SplitLinks& links() const { return *links_; }
  /// Returns the bytes that a GPU sends, mean over the stages.
  double bytes_sent() const;
  /// Counts the messages of all GPUs, with the bandwidth-optimal algorithms.
  double messages() const;

 private:
  double slowest_update_s() const;

  const Scenario& scenario_;
  SplitJob job_;
  std::shared_ptr<const RankSeconds> seconds_;
  std::shared_ptr<const SplitLinks> links_;
  std::shared_ptr<PipelineTimer> pipeline_;
  double update_s_;
};

}  // namespace lockstep::sim::replica
