#include "sim/failures/spot_run.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::failures {
namespace {

constexpr double kNever_s = std::numeric_limits<double>::infinity();
constexpr int kMostPeriods = 1 << 22;

// Computes the work that a job completes in a time without losses of spot nodes.
class Progress {
 public:
  Progress(const FailureProcess& process, double notice_s)
      : p_(process), slowdown_(1 / goodput(process).share), has_notice_(notice_s >= process.checkpoint_s) {
    // A step is an interval, its checkpoint, and the time that failures add to both.
    slowdown_ *= p_.interval_s / (p_.interval_s + p_.checkpoint_s);
  }

  double wall_s_of(double useful_s) const {
    return slowdown_ * (useful_s + std::ceil(useful_s / p_.interval_s - 1e-9) * p_.checkpoint_s);
  }
  double useful_s_in(double wall_s) const {
    const double step_s = slowdown_ * (p_.interval_s + p_.checkpoint_s);
    const double steps = std::floor(wall_s / step_s + 1e-12), rest_s = wall_s - steps * step_s;
    const double saved_s = has_notice_ ? std::min(rest_s / slowdown_ - p_.checkpoint_s, p_.interval_s) : 0;
    return steps * p_.interval_s + std::max(0.0, saved_s);
  }

 private:
  const FailureProcess& p_;
  double slowdown_;
  bool has_notice_;
};

}  // namespace

SpotRun spot_run(const Availability& trace, const FailureProcess& process, int nodes, double useful_s, double start_s) {
  Holdings holdings(trace, nodes, start_s);
  const Progress progress(process, trace.notice_s);
  SpotRun run;
  double left_s = useful_s, most_done_s = 0;
  for (int period = 0; period < kMostPeriods; ++period) {
    const auto holding = holdings.next();
    if (!holding) break;
    const double restart_s = period == 0 ? 0 : process.restart_s;
    const double works_s = holding->to_s - holding->from_s - restart_s;
    const double needs_s = progress.wall_s_of(left_s);
    if (needs_s <= works_s) {
      run.wall_s = holding->from_s + restart_s + needs_s;
      run.held_s += restart_s + needs_s;
      return run;
    }
    const double done_s = works_s > 0 ? progress.useful_s_in(works_s) : 0;
    left_s -= done_s;
    most_done_s = std::max(most_done_s, done_s);
    run.held_s += holding->to_s - holding->from_s;
    ++run.interruptions;
    // If no step is completed within two rounds of the trace, no later round completes one.
    if (most_done_s <= 0 && holding->to_s > 2 * trace.length_s) break;
  }
  run.wall_s = run.held_s = kNever_s;
  return run;
}

double mean_holding_s(const Availability& trace, int nodes) {
  Holdings holdings(trace, nodes, 0);
  double held_s = 0;
  int interruptions = 0;
  for (auto holding = holdings.next(); holding; holding = holdings.next()) {
    if (!std::isfinite(holding->to_s)) return 0;
    held_s += holding->to_s - holding->from_s;
    ++interruptions;
    if (holding->to_s >= trace.length_s) return held_s / interruptions;
  }
  return 0;
}

SpotRuns spot_runs(const Availability& trace, const FailureProcess& process, int nodes, double useful_s) {
  SpotRuns runs;
  runs.shortest_s = kNever_s;
  for (int start = 0; start < kSpotStarts; ++start) {
    const SpotRun run = spot_run(trace, process, nodes, useful_s, start * trace.length_s / kSpotStarts);
    runs.mean.wall_s += run.wall_s / kSpotStarts;
    runs.mean.held_s += run.held_s / kSpotStarts;
    runs.mean.interruptions += run.interruptions / kSpotStarts;
    runs.shortest_s = std::min(runs.shortest_s, run.wall_s);
    runs.longest_s = std::max(runs.longest_s, run.wall_s);
  }
  return runs;
}

}  // namespace lockstep::sim::failures
