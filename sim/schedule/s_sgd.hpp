#pragma once
// Synchronous SGD with data parallelism: every GPU computes gradients on its share of the batch, all gradients are
// averaged by all-reduce, every GPU makes the same update.
#include <functional>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/fusion.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim {

struct SSgd {
  int gpus = 1;
  int iterations = 1;
  double load_s = 0;       ///< input pipeline: one batch of one GPU read, decoded and augmented
  double to_device_s = 0;  ///< copy of one batch to the GPU
  int prefetch = 2;        ///< batches in flight ahead of the computation (2 = double buffering)
  bool overlap = true;     ///< all-reduce while back-propagation goes on; otherwise only after it
  double launch_s = 0;     ///< of each all-reduce: coordination and kernel launch before the first message
};

/// The plan that sums one bucket over the GPUs.
using AllReduce = std::function<Plan(int gpus, std::int64_t bytes)>;

/// Streams of every GPU: "input", "copy", "compute", "all-reduce". One work item per iteration and stream stage; the
/// backward pass is cut where a bucket becomes complete.
Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce);

}  // namespace lockstep::sim
