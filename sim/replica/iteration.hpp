#pragma once
// One iteration of a split in closed form: passes of every stage, the pipeline's timeline, then the exchange between
// replicas.
//
//   pass of a block   computing (rank_cost.hpp), and behind it what tensor and expert ranks send, but for what travels beside
//                     products (/parallel/tensor_overlap), which (t-1)/t of these may hide; a context ring travels
//                     beside the attention, whose last of c steps needs no more; experts' all-to-alls travel beside all of it
//                     where another micro-batch's pass is computed meanwhile (/parallel/expert_overlap), which as long a
//                     pass hides; with zero3 the block's weights are
//                     gathered beside the pass, and from zero2 on gradients scattered beside the backward one: the longer
//                     counts. The first gather of a forward pass has nothing to hide behind. With calls for each matrix
//                     (/parallel/sharding_calls) none of this is beside a pass.
//   pipeline          sim/split/pipeline_time.hpp, with the links' time from stage to stage; of more than a million passes,
//                     extrapolated from two pipelines of fewer micro-batches, since a full pipeline repeats its order
//   exchange          of gradients bucket by bucket (/communication/fusion_threshold; at least a block) as the last backward
//                     pass of their chunk leaves them, one after the other beside it (/communication/overlap), else behind
//                     it; then the tied embedding's between first and last stage
//   update            when all stages have exchanged (gradients are clipped by their norm over all)
//   weights           of zero1 and zero2 are gathered before the next forward pass, bucket by bucket beside it, with overlap
//
// Compute jitter: as its expected maximum over the GPUs, as everywhere in closed form. What stages, groups and exchange send
// at the same time does not share links between kinds of groups.
#include <memory>
#include <optional>
#include <vector>

#include "sim/replica/rank_cost.hpp"
#include "sim/replica/split_links.hpp"
#include "sim/split/pipeline_time.hpp"

namespace lockstep::sim::replica {

/// Seconds of a GPU in an iteration, mean over the stages.
struct SplitSeconds {
  double compute_s = 0;  ///< passes and update
  double tensor_s = 0;   ///< waited for, as the next two
  double context_s = 0;
  double expert_s = 0;
  double sharding_s = 0;  ///< weights and gradients of zero2 and zero3, longer than the passes beside them
  double update_s = 0;    ///< of compute_s
};

struct SplitIteration {
  double iteration_s = 0;
  double pipeline_s = 0;          ///< from the first pass until the last one has ended
  double bubble_fraction = 0;     ///< of it, that stages wait for others
  double exposed_exchange_s = 0;  ///< gradients behind the last pass, weights before the first
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
  /// With links and seconds that many splits share: those of the same ranks and groups of sharding have the same links.
  SplitModel(const Scenario& scenario, int gpus, std::shared_ptr<const SplitLinks> links, RankSecondsOfSplits& seconds);

  /// `slowest`: factor on compute times (expected_slowest()).
  SplitIteration iteration(double slowest, const Perturbation& perturbation = {}) const;
  /// The passes, exchanges and updates of that iteration, stage by stage. Communication beside or inside a pass has no span.
  /// Throws InputError where they are more than about a million.
  std::vector<SplitSpan> spans(double slowest) const;
  const SplitJob& job() const { return job_; }
  const Scenario& scenario() const { return scenario_; }
  const RankSeconds& seconds() const { return *seconds_; }
  const SplitLinks& links() const { return *links_; }
  /// Of a GPU, mean over the stages.
  double bytes_sent() const;
  /// Of all GPUs, by the bandwidth-optimal algorithms.
  double messages() const;

 private:
  void set_longer_pipeline();

  const Scenario& scenario_;
  SplitJob job_;
  SplitJob timed_;  ///< of fewer micro-batches, where the pipeline would have too many passes
  std::shared_ptr<const RankSeconds> seconds_;
  std::shared_ptr<const SplitLinks> links_;
  PipelineOrder pipeline_;               ///< of timed_
  std::optional<PipelineOrder> longer_;  ///< of twice as many, where timed_ has fewer than the job
};

}  // namespace lockstep::sim::replica
