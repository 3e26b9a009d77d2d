#pragma once
// What every GPU does, as work enqueued on streams: the language in which schedules are written and that replay runs.
//
// A program is the same for all GPUs (SPMD); GPUs differ by their compute jitter and by their place in the collectives.
// As with CUDA streams, work on one stream runs in the order of enqueueing, streams run side by side, and work may wait
// for earlier work of the same GPU on another stream. A collective involves the same stream of all GPUs.
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim {

/// A named share of a piece of compute work (a layer), for timelines.
struct Part {
  std::string name;
  double seconds;
};

struct Work {
  enum class Kind { compute, copy, collective };
  Kind kind = Kind::compute;
  int stream = 0;
  int iteration = 0;
  std::string name;
  double seconds = 0;      ///< compute, copy: alone and without jitter; collective: launch before the first message
  double fill = 1;         ///< compute: fraction of the GPU it can use, 0 < fill <= 1
  int plan = -1;           ///< collective: index in Program::plans
  std::vector<int> after;  ///< indices of earlier work that must have ended on the same GPU
  std::vector<Part> parts;
};

struct Program {
  int gpus = 0;
  int iterations = 0;
  double reduction_rate_bytes_per_s = 0;  ///< at most, of a transfer whose data the receiver adds; 0: no limit
  std::vector<std::string> streams;
  std::vector<Plan> plans;
  std::vector<Work> work;           ///< in the order of enqueueing
  std::vector<int> iteration_ends;  ///< per iteration, the work whose end is the iteration's end

  /// Per GPU, mean over GPUs, of one iteration.
  double bytes_sent_per_gpu_and_iteration() const;
  /// All messages of one iteration.
  double messages_per_iteration() const;
};

/// Appends work; each call returns the work's index, for `after`.
class Enqueue {
 public:
  Enqueue(int gpus, std::vector<std::string> streams);
  void begin_iteration();
  int compute(int stream, std::string name, double seconds, std::vector<int> after, std::vector<Part> parts = {});
  int copy(int stream, std::string name, double seconds, std::vector<int> after);
  int collective(int stream, std::string name, int plan, double launch_s, std::vector<int> after);
  void end_iteration(int last_work);
  int add_plan(Plan plan);
  Program finish();

 private:
  int append(Work work);
  Program program_;
};

}  // namespace lockstep::sim
