#pragma once
// Synchronous model averaging (SMA) with several learners per GPU, and EA-SGD, which only updates the average model
// differently. Source: Koliousis et al. 2019, "Crossbow", section 4.2 and Fig. 8. The algorithm itself is in
// engine/sync/sma.hpp.
//
// In iteration t learner j of every GPU runs on a stream of its own:
//
//   `learn(t, j)`    Gradient of its batch at its replica; waits for local(t-1, j) and its batch.
//   `local(t, j)`    Computes the difference from the GPU's average model, and applies gradient and correction to the
//                    replica; waits for learn(t, j), and for average(t-1) on its GPU.
//
// On its synchronisation stream the GPU runs:
//
//   `aggregate(t)`   Sums the GPU's differences; waits for local(t, j) of all its learners.
//   `all-reduce(t)`  Sums over the GPUs.
//   `average(t)`     Moves the GPU's copy of the average model by that sum.
//
// Synchronisation thus overlaps with learn(t+1, j). Without overlap, learn(t+1, j) waits for average(t).
//
// Suppose that learning, local and global synchronisation of every learner take L, l and G seconds without contention.
// If all learners together do not fill the GPU, an iteration takes l + max(L, G), or L + l + G without overlap.
//
// Every tau-th iteration synchronises. In the others local(t, j) only applies the gradient. Aggregate, all-reduce and
// average are left out.
//
// Synchronisation by the host: The program that Crossbow's authors released (github.com/lsds/Crossbow, commit
// d4441b35, clib-multigpu/synch/sma.c, built with DEVICE_SYNCHRONIZE) does not overlap. A thread of the host waits
// until all learners of all GPUs have learned. It then makes one GPU after the other compute its learners'
// differences, and waits for each. After that it starts the all-reduce and the average model, waits for the last GPU,
// and hands out the next batches. An iteration takes L + u + w + n (d + w) + G. There are n GPUs. The host takes w
// seconds to notice that a GPU is done, and a GPU's differences take d. G is the all-reduce and the average model, u
// the replica's plain update.
//
// Scheduling: With "first come, first served", a free replica takes its next batch at once. With "round-robin", batches
// go to the GPU's replicas in turn, so a free replica waits until the previous one in turn has begun.
#include <string>
#include <vector>

#include "sim/schedule/program.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

/// A task on a GPU: its seconds alone, and the fraction of the GPU that it can use.
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
  std::vector<LearningStep> learning;  ///< of one batch: a step per layer and direction, or a single one
  TaskCost local;                      ///< local synchronisation of one learner
  TaskCost update;                     ///< replaces `local` where nothing is synchronised: applies the gradient
  TaskCost aggregate;                  ///< for all learners of a GPU; 0 s for one learner
  TaskCost average;
  TaskCost differences;         ///< by the host: replaces `local` and `aggregate`; for all learners of a GPU
  std::int64_t wire_bytes = 0;  ///< of the sum of differences

  double learning_s() const;
  /// Returns the mean of the learning steps' fill, weighted by time.
  double fill() const;
};

/// Here Loading::load_s is the CPU pre-processing of one learner's batch, while all GPUs of the node share its workers.
/// `prefetch` counts batches per learner. Loading never blocks.
struct SmaOptions : Loading {
  int gpus = 1;
  int learners = 1;  ///< per GPU
  int iterations = 1;
  int tau = 1;  ///< 0: never
  bool overlap = true;
  bool round_robin = false;
  double launch_s = 0;     ///< per all-reduce
  bool by_host = false;    ///< the host synchronises without overlap, as in the released program
  double host_wait_s = 0;  ///< w

  bool synchronises(int iteration) const { return tau > 0 && (iteration + 1) % tau == 0; }
};

/// Streams of every GPU: "input", "copy", "synchronisation", "scheduler", then "learner 0" and so on. An iteration ends
/// with its last local synchronisation. If the host synchronises, it ends with its last update.
Program sma(const SmaCost& cost, const SmaOptions& options, const AllReduce& all_reduce);

}  // namespace lockstep::sim::schedule
