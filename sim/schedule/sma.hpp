#pragma once
// Synchronous model averaging (SMA) with several learners per GPU, and EA-SGD, which differs by the update of the
// average model. Source: Koliousis et al. 2019, "Crossbow", section 4.2 and Fig. 8. The algorithm itself is in
// engine/sync/sma.hpp.
//
// In iteration t learner j of every GPU runs on a stream of its own:
//
//   `learn(t, j)`    Gradient of its batch at its replica; after local(t-1, j), and its batch.
//   `local(t, j)`    Difference with the GPU's average model, gradient and correction applied to the replica; after
//                    learn(t, j), and average(t-1) on its GPU.
//
// On its synchronisation stream the GPU runs:
//
//   `aggregate(t)`   Sum of the GPU's differences; after local(t, j) of all its learners.
//   `all-reduce(t)`  Sum over the GPUs.
//   `average(t)`     The GPU's copy of the average model moves by that sum.
//
// Synchronisation thus overlaps with learn(t+1, j). Without overlap, learn(t+1, j) comes after average(t).
//
// Let learning, local and global synchronisation take L, l and G seconds without contention, for every learner. If all
// learners together do not fill the GPU, an iteration takes l + max(L, G), and L + l + G without overlap.
//
// Every tau-th iteration synchronises; in the others local(t, j) applies the gradient only, and average, aggregate and
// all-reduce are left out.
//
// By the host. The program that Crossbow's authors released (github.com/lsds/Crossbow, commit d4441b35,
// clib-multigpu/synch/sma.c, built with DEVICE_SYNCHRONIZE) does not overlap. A thread of the host waits until all
// learners of all GPUs have learned. It has one GPU after the other form its learners' differences, and waits for each.
// Then it starts the all-reduce and the average model, waits for the last GPU, and only then hands out the next
// batches. An iteration takes L + u + w + n (d + w) + G. There are n GPUs; the host takes w seconds to notice that a
// GPU is done, and a GPU's differences take d. G is the all-reduce and the average model, u the plain update of the
// replica.
//
// Scheduling. First come, first served: a replica that is free takes its next batch at once. Round-robin: batches go to
// the GPU's replicas in turn, so that a free replica waits until the one before it in turn has begun.
#include <string>
#include <vector>

#include "sim/schedule/program.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

/// A task on a GPU: seconds alone, and the fraction of the GPU that it can use.
struct TaskCost {
  double seconds = 0;
  double fill = 1;
};

struct LearningStep {
  std::string name;
  double seconds;
  double fill;
};

struct SmaCost {
  std::vector<LearningStep> learning;  ///< of one batch: a step per layer and direction, or one for all
  TaskCost local;                      ///< local synchronisation of one learner
  TaskCost update;                     ///< in its place where nothing is synchronised: the gradient applied
  TaskCost aggregate;                  ///< for all learners of a GPU; 0 s for one learner
  TaskCost average;
  TaskCost differences;         ///< by the host: of all learners of a GPU, in its place of local and aggregate
  std::int64_t wire_bytes = 0;  ///< of the differences' sum

  double learning_s() const;
  /// Mean over the learning steps by time.
  double fill() const;
};

/// Here load_s of Loading is the CPU pre-processing of one learner's batch, while the node's GPUs share its workers.
/// `prefetch` counts batches per learner. Loading never blocks.
struct SmaOptions : Loading {
  int gpus = 1;
  int learners = 1;  ///< per GPU
  int iterations = 1;
  int tau = 1;  ///< 0: never
  bool overlap = true;
  bool round_robin = false;
  double launch_s = 0;     ///< of each all-reduce
  bool by_host = false;    ///< the host synchronises, as the released program does: without overlap
  double host_wait_s = 0;  ///< w

  bool synchronises(int iteration) const { return tau > 0 && (iteration + 1) % tau == 0; }
};

/// Streams of every GPU: "input", "copy", "synchronisation", "scheduler", then "learner 0" and so on. An iteration ends
/// with the last of its local synchronisations, by the host with that of its updates.
Program sma(const SmaCost& cost, const SmaOptions& options, const AllReduce& all_reduce);

}  // namespace lockstep::sim::schedule
