#pragma once
// A training on nodes that come and go (availability.hpp). It runs while it holds all its nodes. If it loses one, it
// keeps the work up to the last checkpoint. If the warning is long enough for another checkpoint, it keeps all work. It
// then waits for its nodes, and restarts. A period of length h gives this work:
//
//   `min(floor(w / (t + c')) t [+ the rest, if notice >= c], remaining work), w = h - R`
//   t: interval, c: checkpoint, R: restart; the first start needs none.
//   c' = t / goodput - t: the mean time for checkpoints and hardware failures (goodput.hpp).
#include "sim/failures/availability.hpp"
#include "sim/failures/goodput.hpp"

namespace lockstep::sim::failures {

struct SpotRun {
  double wall_s = 0;  ///< from the first request for nodes to the end of the work
  double held_s = 0;  ///< part of wall_s with all nodes, which is billed
  double interruptions = 0;
};

/// If the trace never gives the nodes, or never for long enough to make progress, the training takes infinitely long.
SpotRun spot_run(const Availability& trace, const FailureProcess& process, int nodes, double useful_s, double start_s);

/// Returns the mean time for which `nodes` nodes are held between two interruptions, over a round of the trace. 0: they
/// are never lost, or never held.
double mean_holding_s(const Availability& trace, int nodes);

/// Statistics over starts that are spread evenly over the trace.
struct SpotRuns {
  SpotRun mean;
  double shortest_s = 0, longest_s = 0;  ///< wall time
};
inline constexpr int kSpotStarts = 12;
SpotRuns spot_runs(const Availability& trace, const FailureProcess& process, int nodes, double useful_s);

}  // namespace lockstep::sim::failures
