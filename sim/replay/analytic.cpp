#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/link_queue.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {
namespace {

// Bytes that cross each link in one round of a phase.
class RoundLoad {
 public:
  explicit RoundLoad(Cluster& cluster) : cluster_(cluster), bytes_(at(cluster.link_count()), 0) {}
  /// Longest transfer of a round in which all flows start together and share every link evenly until the last has left.
  double round_s(const Phase& phase, double reduction_rate, const Perturbation& perturbation) {
    for (const Transfer& t : phase.transfers)
      for (int link : cluster_.route(t.src, t.dst).links) bytes_[at(link)] += static_cast<double>(t.bytes);
    double longest = 0;
    for (const Transfer& t : phase.transfers) {
      double flow_s = 0;
      for (int link : cluster_.route(t.src, t.dst).links)
        flow_s = std::max(flow_s, bytes_[at(link)] / cluster_.link_bandwidth(link));
      if (t.reduces && reduction_rate > 0) flow_s = std::max(flow_s, static_cast<double>(t.bytes) / reduction_rate);
      const double latency_s = cluster_.message_latency_s(t.src, t.dst);
      longest = std::max(longest, latency_s * perturbation.latency + flow_s / perturbation.bandwidth);
    }
    for (const Transfer& t : phase.transfers)
      for (int link : cluster_.route(t.src, t.dst).links) bytes_[at(link)] = 0;
    return longest;
  }

 private:
  Cluster& cluster_;
  std::vector<double> bytes_;
};

}  // namespace

double analytic_plan_s(const Plan& plan, Cluster& cluster, double reduction_rate, const Perturbation& perturbation) {
  if (plan.call) return call_closed_form_s(plan, cluster, perturbation);
  RoundLoad load(cluster);
  double total = 0;
  for (const Phase& phase : plan.phases) total += phase.rounds * load.round_s(phase, reduction_rate, perturbation);
  return total;
}

Replay replay_analytic(const Program& program, Cluster& cluster, double expected_slowest,
                       const Perturbation& perturbation) {
  std::vector<double> plan_s;
  for (const Plan& plan : program.plans)
    plan_s.push_back(analytic_plan_s(plan, cluster, program.reduction_rate_bytes_per_s, perturbation));

  Replay replay;
  replay.method = "closed form";
  replay.iteration_end_s.assign(at(program.iterations), 0);
  replay.compute_s.assign(at(program.iterations), 0);
  replay.input_wait_s.assign(at(program.iterations), 0);
  std::vector<double> free_s(program.streams.size(), 0), end_s(program.work.size(), 0);
  LinkQueue links(program, cluster, perturbation);
  WorkOrder order(program);
  for (int next = order.next(free_s, end_s); next >= 0; next = order.next(free_s, end_s)) {
    const std::size_t w = at(next);
    const Work& work = program.work[w];
    double start = free_s[at(work.stream)], input = 0;
    for (int waited : work.after) {
      double& latest = program.work[at(waited)].kind == Work::Kind::copy ? input : start;
      latest = std::max(latest, end_s[at(waited)]);
    }
    double seconds = work.seconds;
    if (work.kind == Work::Kind::compute) {
      replay.input_wait_s[at(work.iteration)] += std::max(0.0, input - start);
      replay.compute_s[at(work.iteration)] += work.seconds * perturbation.compute;
      seconds *= perturbation.compute * expected_slowest * work.crowding;
    } else if (work.kind == Work::Kind::collective) {
      seconds = work.seconds * perturbation.latency + plan_s[at(work.plan)];
    }
    end_s[w] = std::max(start, input) + seconds;
    if (work.kind == Work::Kind::collective) end_s[w] = links.end_s(work.plan, std::max(start, input), end_s[w]);
    free_s[at(work.stream)] = end_s[w];
    if (program.iteration_ends[at(work.iteration)] == static_cast<int>(w))
      replay.iteration_end_s[at(work.iteration)] = end_s[w];
  }
  replay.events = static_cast<std::int64_t>(program.work.size());
  return replay;
}

}  // namespace lockstep::sim
