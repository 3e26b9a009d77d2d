#pragma once
// Slows compute during collectives. While a GPU is in a collective whose Work::slows is s, a second of compute makes
// the progress of 1/s seconds. If a piece of work takes t seconds without collectives and overlaps one for d seconds,
// it takes:
//
//   `end - start = (t - d / s) + d`
//
// If several learners share a GPU, each is slowed by s, whatever part of the GPU it has. The slowdown was measured with
// the kernels of one learner, and all learners have the same kernels.
//
// A GPU is in a collective from its launch (the kernel then waits on the GPU for the other ranks) until it leaves. The
// time of the collective does not change. The profile's collectives were measured on idle GPUs, and their own slowdown
// by compute was not measured.
#include <vector>

#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Serves replays that process a program's work in the order of enqueueing. Compute is on one stream; with several
/// streams, each counts as a GPU of its own.
class InFlight {
 public:
  explicit InFlight(int gpus) : gpus_(static_cast<std::size_t>(gpus)) {}

  /// Adds a collective on `gpu` from start_s to end_s. Those of one GPU must not overlap, and must be added in order.
  void add(int gpu, double start_s, double end_s, double slows);
  /// Returns the end of work that takes `seconds` without collectives and starts at `start_s`. Starts on one GPU must
  /// not decrease.
  double end_s(int gpu, double start_s, double seconds);

 private:
  struct Interval {
    double start_s, end_s, slows;
  };
  std::size_t gpus_;
  std::vector<std::vector<Interval>> of_gpu_;  // those that end after the GPU's last start; empty before the first
};

/// True if a collective of the program slows compute.
bool has_slowdowns(const Program& program);
/// True if every collective that can overlap a piece of compute was enqueued before it, so that InFlight is exact. This
/// needs compute and collectives on one stream each. Every collective that is enqueued after a piece of compute must
/// wait for it.
bool knows_what_is_in_flight(const Program& program);

}  // namespace lockstep::sim::replay
