#pragma once
// A training on nodes that come and go (availability.hpp). It runs while it holds all its nodes. Where it loses one it has
// what the last checkpoint kept, or, where the warning is long enough to write one, all it had done until it wrote that;
// it waits for its nodes, then restarts:
//
//   a period of length h: min(floor(w / (t + c')) t [+ the rest, with notice >= c], work left), w = h - R,
//   t: interval, c: checkpoint, R: restart; none for the first start
//   c' = t / goodput - t: checkpoints and what failures of hardware take, in the mean (goodput.hpp)
#include "sim/failures/availability.hpp"
#include "sim/failures/goodput.hpp"

namespace lockstep::sim::failures {

struct SpotRun {
  double wall_s = 0;  ///< from the first request for nodes to the end of the work
  double held_s = 0;  ///< of it with all nodes: what is paid
  double interruptions = 0;
};

/// A training that its trace never gives the nodes for, or never for long enough to get on, takes infinitely long.
SpotRun spot_run(const Availability& trace, const FailureProcess& process, int nodes, double useful_s, double start_s);

/// How long so many nodes are held between two interruptions, in the mean over a round of the trace; 0: for ever.
double mean_holding_s(const Availability& trace, int nodes);

/// Over starts that are evenly spread over the trace.
struct SpotRuns {
  SpotRun mean;
  double shortest_s = 0, longest_s = 0;  ///< wall time
};
inline constexpr int kSpotStarts = 12;
SpotRuns spot_runs(const Availability& trace, const FailureProcess& process, int nodes, double useful_s);

}  // namespace lockstep::sim::failures
