#include "engine/base/index.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {

Program program_of_plan(const Plan& plan, double reduction_rate) {
  Enqueue gpu(plan.ranks, {"compute", "collective"});
  gpu.begin_iteration();
  const int arrived = gpu.compute(0, "arrive", 1, {});
  gpu.end_iteration(gpu.collective(1, plan.algorithm, gpu.add_plan(plan), 0, {arrived}));
  Program program = gpu.finish();
  program.reduction_rate_bytes_per_s = reduction_rate;
  return program;
}

namespace {

// Replays the plan as a program. Jitter of a rank's compute gives its arrival time.
std::vector<double> leaving_times(Replay (*replay)(const Program&, const Cluster&, const Jitter&, const ReplayOptions&),
                                  const Plan& plan, const Cluster& cluster, const std::vector<double>& arrivals_s,
                                  double reduction_rate) {
  ReplayOptions options;
  options.keep_ends = true;
  const Jitter arrival = [&](int rank, int) { return arrivals_s[to_index(rank)]; };
  return replay(program_of_plan(plan, reduction_rate), cluster, arrival, options).ends_s[0];
}

}  // namespace

std::vector<double> plan_by_flows(const Plan& plan, const Cluster& cluster, const std::vector<double>& arrivals_s,
                                  double reduction_rate) {
  return leaving_times(replay_flows, plan, cluster, arrivals_s, reduction_rate);
}

std::vector<double> plan_by_messages(const Plan& plan, const Cluster& cluster, const std::vector<double>& arrivals_s,
                                     double reduction_rate) {
  return leaving_times(replay_messages, plan, cluster, arrivals_s, reduction_rate);
}

}  // namespace lockstep::sim::replay
