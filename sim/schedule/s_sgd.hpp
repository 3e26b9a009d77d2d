#pragma once
// Synchronous SGD with data parallelism. Every GPU computes gradients on its share of the batch. An all-reduce averages
// all gradients. Every GPU makes the same update.
//
// With gradient accumulation, an iteration has k micro-steps. Each adds its gradients to those of the previous ones,
// and only the sum is exchanged. The batch per iteration is thus k times as large, and exchanges are k times as rare.
#include <functional>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/fusion.hpp"
#include "sim/schedule/passes.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::schedule {

struct SSgd : Loading {
  int gpus = 1;
  int iterations = 1;
  int accumulation = 1;  ///< micro-steps of an iteration
  bool overlap = true;   ///< all-reduce during back-propagation; false: after it
  double launch_s = 0;   ///< before the first message of each all-reduce: coordination and kernel launch
  /// Bytes/s at which gradients are copied into a bucket and, after the all-reduce, back. Both copies delay
  /// computation. 0: gradients lie in their buckets.
  double bucket_copy_bytes_per_s = 0;
};

/// Returns the plan that sums a bucket of `bytes` over the GPUs.
using AllReduce = std::function<Plan(int gpus, std::int64_t bytes)>;

/// Adds the plan of every bucket; buckets of one size share one.
std::vector<int> plans_of_buckets(Enqueue& gpu, const std::vector<Bucket>& buckets, int gpus, const AllReduce& plan);

/// Adds iterations of S-SGD one by one. Groups of GPUs that sum their gradients apart from each other are iterations of
/// the same work, with other plans.
class SSgdIterations {
 public:
  /// `plans`: of the buckets (plans_of_buckets()). All arguments must outlive it.
  SSgdIterations(Enqueue& gpu, const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets,
                 const SSgd& options, const std::vector<int>& plans);
  /// Begins an iteration, and adds its work after `work_before`, the work that ended the previous one (-1: none).
  /// Returns the update; the caller ends the iteration.
  int add_iteration(int work_before);

 private:
  /// Adds the wait for input and the forward pass of a micro-step; returns the latter.
  int add_forward_pass(int step_before, int work_before);
  double copy_s(const Bucket& bucket) const;
  int copy_bucket(const Bucket& bucket, const std::vector<int>& after);

  Enqueue& gpu_;
  const ModelCost& cost_;
  const std::vector<Bucket>& buckets_;
  const SSgd& options_;
  const std::vector<int>& plans_;
  Segment forward_, whole_backward_, rest_;
  std::vector<Segment> backward_;  // up to each bucket, then rest_
  InputPipeline input_;
};

/// Streams of every GPU: "input", "copy", "compute", "all-reduce". Each iteration has one work item per stage of a
/// stream. The backward pass is divided where a bucket is complete.
Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce);

}  // namespace lockstep::sim::schedule
