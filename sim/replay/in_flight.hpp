#pragma once
// Compute beside collectives. While a GPU is in a collective whose Work::slows is s, its compute gets 1/s done in a
// second: of a piece of work that takes t seconds alone and spends d of them beside the collective,
//
//   end - start = (t - d / s) + d
//
// On a GPU that several learners share, whatever part of it each has: the measured slowdown is that of one learner's
// kernels, and all have such kernels.
//
// From when the GPU has launched the collective (its kernel then waits for the others on the GPU) to when it leaves.
// How long the collective takes is not changed: the profile's collectives were measured on idle GPUs, and what compute
// costs them is not measured.
#include <vector>

#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// For replays that go through a program's work in the order of enqueueing, with compute on one stream; with several,
/// each is taken for a GPU of its own.
class InFlight {
 public:
  explicit InFlight(int gpus) : gpus_(static_cast<std::size_t>(gpus)) {}

  /// A GPU is in a collective from start_s to end_s; those of one GPU come one after the other.
  void add(int gpu, double start_s, double end_s, double slows);
  /// When work of `seconds` alone ends that starts at `start_s`; a GPU's starts must not go back.
  double end_s(int gpu, double start_s, double seconds);

 private:
  struct Interval {
    double start_s, end_s, slows;
  };
  std::size_t gpus_;
  std::vector<std::vector<Interval>> of_gpu_;  // those that end after the GPU's last start; empty before the first
};

/// Whether any collective of the program slows compute.
bool has_slowdowns(const Program& program);
/// Whether all that can be in flight beside a piece of compute was enqueued before it, so that InFlight is exact:
/// compute and collectives are on one stream each, and every collective enqueued after a piece of compute waits for it.
bool knows_what_is_in_flight(const Program& program);

}  // namespace lockstep::sim::replay
