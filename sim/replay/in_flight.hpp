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

/// Serves replays that process a program's work in the order of enqueueing. Compute is on one stream.
class InFlight {
 public:
  /// Adds a collective that each GPU is in from starts_s to ends_s. Those of one GPU must not overlap, and must be added
  /// in order. A GPU that is not in the collective ends it when it starts.
  void add(std::vector<double> starts_s, const std::vector<double>& ends_s, double slows);
  /// Forgets the collectives that all GPUs have left by `start_s`. No later work may start before it.
  void forget_until(double start_s);
  /// Returns the end of work that takes `seconds` without collectives and starts at `start_s`.
  double end_s(int gpu, double start_s, double seconds) const;
  /// Does the same on the GPUs from `first` to before `end`: times_s are starts and become ends. GPU i works for `work_s`
  /// times factors[i] without collectives.
  void advance(int first, int end, double work_s, const std::vector<double>& factors,
               std::vector<double>& times_s) const;
  bool is_empty() const { return collectives_.empty(); }

 private:
  struct Collective {
    std::vector<double> starts_s, ends_s;  // by GPU
    double earliest_start_s, latest_end_s, slows;
  };
  /// Works until the collective has ended or no work is left, on `count` GPUs from `from` on. Advances now_s and
  /// reduces left_s, the work that is left.
  static void advance_through(const Collective& collective, int from, int count, double* now_s, double* left_s);

  std::vector<Collective> collectives_;
};

/// True if a collective of the program slows compute.
bool has_slowdowns(const Program& program);
/// True if every collective that can overlap a piece of compute was enqueued before it, so that InFlight is exact. This
/// needs compute and collectives on one stream each. Every collective that is enqueued after a piece of compute must
/// wait for it.
bool knows_what_is_in_flight(const Program& program);

}  // namespace lockstep::sim::replay
