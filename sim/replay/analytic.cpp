#include <algorithm>
#include <map>
#include <set>

#include "engine/base/index.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/link_queue.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {
namespace {

std::vector<int> find_compute_streams(const Program& program) {
  std::set<int> streams;
  for (const Work& work : program.work)
    if (work.kind == Work::Kind::compute) streams.insert(work.stream);
  return {streams.begin(), streams.end()};
}

// Returns the time before which no further compute starts.
double find_first_compute(const std::vector<int>& compute_streams, const std::vector<double>& free_s) {
  double first_s = kInfinity;
  for (int stream : compute_streams) first_s = std::min(first_s, free_s[to_index(stream)]);
  return first_s;
}

}  // namespace

Replay replay_analytic(const Program& program, const Cluster& cluster, double expected_slowest,
                       const Perturbation& perturbation) {
  return replay_analytic(program, expected_slowest, perturbation, plan_costs(program, cluster));
}

Replay replay_analytic(const Program& program, double expected_slowest, const Perturbation& perturbation,
                       const PlanCosts& costs) {
  std::vector<double> plan_s;
  for (const auto& cost : costs.phases) plan_s.push_back(seconds_of(cost, perturbation));
  std::map<Work::Source, double> copy_s;
  for (const auto& [source, cost] : costs.copies) copy_s[source] = seconds_of({cost}, perturbation);

  Replay replay = begin_replay(program, ReplayMethod::closed_form);
  std::vector<double> free_s(program.streams.size(), 0), end_s(program.work.size(), 0);
  LinkQueue links(program, costs, perturbation);
  const bool is_slowed = has_slowdowns(program);
  // GPUs run in lockstep, so one represents all. Its streams share it one after the other.
  InFlight in_flight;
  const std::vector<int> compute_streams = find_compute_streams(program);
  WorkOrder order(program);
  for (int next = order.next_work(free_s, end_s); next >= 0; next = order.next_work(free_s, end_s)) {
    const std::size_t w = to_index(next);
    const Work& work = program.work[w];
    double start = free_s[to_index(work.stream)], input = 0;
    for (int waited : work.after) {
      double& latest = program.work[to_index(waited)].kind == Work::Kind::copy ? input : start;
      latest = std::max(latest, end_s[to_index(waited)]);
    }
    double seconds = work.seconds;
    if (work.kind == Work::Kind::compute) {
      replay.input_wait_s[to_index(work.iteration)] += std::max(0.0, input - start);
      replay.compute_s[to_index(work.iteration)] += work.seconds * perturbation.compute;
      seconds *= perturbation.compute * expected_slowest * work.crowding;
    } else if (work.kind == Work::Kind::collective) {
      seconds = work.seconds * perturbation.latency + plan_s[to_index(work.plan)];
    } else if (work.source != Work::Source::aside) {
      seconds = copy_s[work.source];
    }
    const double start_s = std::max(start, input);
    end_s[w] = start_s + seconds;
    if (work.kind == Work::Kind::compute && is_slowed) {
      in_flight.forget_until(find_first_compute(compute_streams, free_s));
      end_s[w] = in_flight.end_s(0, start_s, seconds);
      const double slowed_s = end_s[w] - start_s - seconds;
      replay.slowed_s[to_index(work.iteration)] += slowed_s;
      replay.compute_s[to_index(work.iteration)] += slowed_s;
    } else if (work.kind == Work::Kind::collective) {
      end_s[w] = links.occupy(work.plan, start_s, end_s[w]);
      if (is_slowed) in_flight.add({start_s + work.seconds * perturbation.latency}, {end_s[w]}, work.slows);
    } else if (work.source != Work::Source::aside) {
      end_s[w] = links.occupy(work.source, start_s, end_s[w]);
    }
    free_s[to_index(work.stream)] = end_s[w];
    if (program.iteration_ends[to_index(work.iteration)] == static_cast<int>(w))
      replay.iteration_end_s[to_index(work.iteration)] = end_s[w];
  }
  replay.events = static_cast<std::int64_t>(program.work.size());
  return replay;
}

}  // namespace lockstep::sim::replay
