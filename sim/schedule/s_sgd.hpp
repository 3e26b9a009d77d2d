#pragma once
// Synchronous SGD with data parallelism: every GPU computes gradients on its share of the batch, all gradients are
// averaged by all-reduce, every GPU makes the same update.
//
// With gradient accumulation an iteration has k micro-steps. Each adds its gradients to those of the previous ones, and
// only the sum is exchanged. So the batch per iteration is k times as large, and exchanges are k times as rare.
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
  double launch_s = 0;   ///< of each all-reduce: coordination and kernel launch before the first message
  /// Speed of copying a bucket's gradients into it and, after the all-reduce, back. Both copies delay computing. 0:
  /// gradients lie in their buckets.
  double bucket_copy_bytes_per_s = 0;
};

/// The plan that sums one bucket over the GPUs.
using AllReduce = std::function<Plan(int gpus, std::int64_t bytes)>;

/// Adds the plan of every bucket; buckets of one size share one.
std::vector<int> plans_of_buckets(Enqueue& gpu, const std::vector<Bucket>& buckets, int gpus, const AllReduce& plan);

/// Streams of every GPU: "input", "copy", "compute", "all-reduce". Each iteration has one work item per stage of a
/// stream. The backward pass is divided where a bucket becomes complete.
Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce);

}  // namespace lockstep::sim::schedule
