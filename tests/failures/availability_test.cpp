// Spot nodes: valid files of intervals, the times at which a job holds its nodes, and trainings on them.
#include "sim/failures/availability.hpp"

#include <cmath>

#include "engine/base/random.hpp"
#include "sim/failures/spot_run.hpp"
#include "tests/base/committed.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

Json trace_json(const Json& intervals) {
  return {{"schema", "lockstep/availability/1"},
          {"name", "small"},
          {"kind", "assumed"},
          {"source", "by hand"},
          {"intervals", intervals}};
}

sim::Availability read(const Json& json) {
  const JsonDocument document = JsonDocument::parse(json.dump(), "trace.json");
  return sim::availability_format().read(document.root());
}

sim::Availability trace_of(double length_s, const std::vector<sim::AvailableInterval>& intervals, double notice_s = 0) {
  sim::Availability trace;
  trace.name = "small";
  trace.length_s = length_s;
  trace.notice_s = notice_s;
  trace.intervals = intervals;
  return trace;
}

// Returns the first periods as from, to, from, to, ...
std::vector<double> periods(const sim::Availability& trace, int nodes, double start_s, int count) {
  sim::Holdings holdings(trace, nodes, start_s);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto holding = holdings.next();
    if (!holding) break;
    times.push_back(holding->from_s);
    times.push_back(holding->to_s);
  }
  return times;
}

sim::FailureProcess checkpointed(double interval_s, double checkpoint_s, double restart_s) {
  sim::FailureProcess p;
  p.interval_s = interval_s;
  p.checkpoint_s = checkpoint_s;
  p.restart_s = restart_s;
  return p;
}

}  // namespace

TEST_CASE("availability: the file's rules, one line each") {
  const Json good = {{{"from", "0 h"}, {"to", "5 h"}, {"nodes", 2}}, {{"from", "1 h"}, {"to", "7 h"}}};
  const sim::Availability trace = read(trace_json(good));
  CHECK(trace.length_s == 7 * 3600);
  CHECK(trace.intervals[1].nodes == 1);
  CHECK(trace.most_nodes() == 3);
  CHECK(sim::availability_format().write(read(sim::availability_format().write(trace))) ==
        sim::availability_format().write(trace));
  const auto error = [](const Json& json) { return error_of([&] { read(json); }); };
  CHECK_THAT(error(trace_json(Json::array())), Contains("trace.json: /intervals: no intervals"));
  CHECK_THAT(error(trace_json({{{"from", 0}, {"to", "5 h"}}})), Contains("/intervals/0/from: missing unit"));
  CHECK_THAT(error(trace_json({{{"from", "5 h"}, {"to", "5 h"}}})), Contains("/intervals/0/to: the interval ends"));
  CHECK_THAT(error(trace_json({{{"from", "0 s"}, {"until", "5 h"}}})), Contains("unknown key \"until\""));
  CHECK_THAT(error(trace_json({{{"from", "0 s"}, {"to", "5 h"}, {"nodes", 0}}})), Contains("/intervals/0/nodes: "));
  Json shorter = trace_json(good);
  shorter["length"] = "6 h";
  CHECK_THAT(error(shorter), Contains("/length: an interval ends at 7") && Contains("behind the trace"));
  Json unsourced = trace_json(good);
  unsourced.erase("source");
  CHECK_THAT(error(unsourced), Contains("missing key \"source\""));
}

TEST_CASE("availability: a job holds its nodes until one of its own leaves") {
  // The trace of 100 s has two nodes from 0 to 50 s and two from 20 to 80 s.
  const sim::Availability trace = trace_of(100, {{0, 50, 2}, {20, 80, 2}});
  CHECK(periods(trace, 2, 0, 3) == std::vector<double>{0, 50, 50, 80, 100, 150});
  CHECK(periods(trace, 4, 0, 2) == std::vector<double>{20, 50, 120, 150});
  CHECK(periods(trace, 4, 30, 2) == std::vector<double>{0, 20, 90, 120});
  CHECK(periods(trace, 3, 60, 1) == std::vector<double>{60, 90});
  CHECK(periods(trace, 5, 0, 1).empty());
}

TEST_CASE("availability: nodes that leave and come at one instant are the same; the trace's end is such an instant") {
  // A count over time: 4, then 6, then 3, then again from the start.
  const sim::Availability counts = trace_of(90, {{0, 30, 4}, {30, 60, 6}, {60, 90, 3}});
  CHECK(periods(counts, 3, 0, 1) == std::vector<double>{0, std::numeric_limits<double>::infinity()});
  CHECK(periods(counts, 4, 0, 2) == std::vector<double>{0, 60, 90, 150});
  CHECK(periods(counts, 6, 0, 2) == std::vector<double>{30, 60, 120, 150});
}

TEST_CASE("availability: fewer nodes are never held for less time, and never lost more often by counts") {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::uint64_t draws = 0;
    const auto uniform = [&] { return random_uniform(5, trial, draws++); };
    std::vector<sim::AvailableInterval> intervals;
    for (int i = 0; i < 12; ++i) {
      const double from_s = 900 * uniform();
      intervals.push_back({from_s, std::min(1000., from_s + 5 + 300 * uniform()), 1 + static_cast<int>(3 * uniform())});
    }
    const sim::Availability trace = trace_of(1000, intervals);
    double more_s = std::numeric_limits<double>::infinity();
    for (int nodes = 1; nodes <= trace.most_nodes(); ++nodes) {
      // Held time over five rounds, from a start within the trace.
      const std::vector<double> times = periods(trace, nodes, 0, 1000);
      double held_s = 0;
      for (std::size_t i = 0; i + 1 < times.size(); i += 2)
        held_s += std::max(0., std::min(times[i + 1], 5000.) - std::min(times[i], 5000.));
      INFO("trial " << trial << ", " << nodes << " nodes");
      CHECK(held_s > 0);
      CHECK(held_s <= more_s * (1 + 1e-12));
      more_s = held_s;
    }
    CHECK(periods(trace, trace.most_nodes() + 1, 0, 1).empty());
  }
}

TEST_CASE("a spot training by hand: what is behind a checkpoint stays, restarts and waiting are lost") {
  // Nodes are available for 100 s, then not for 50 s. Steps take 10 s, a checkpoint 2 s, a restart 8 s.
  const sim::Availability trace = trace_of(150, {{0, 100, 4}});
  const sim::FailureProcess p = checkpointed(10, 2, 8);
  // First period: 8 steps of 12 s, 80 s of work; then 92 s: 7 steps, 70 s. The last 50 s: from 300 + 8 in 60 s.
  const sim::SpotRun run = sim::spot_run(trace, p, 4, 200, 0);
  CHECK(run.wall_s == Approx(300 + 8 + 60));
  CHECK(run.held_s == Approx(100 + 100 + 68));
  CHECK(run.interruptions == 2);
  // Warned 5 s before: 80 + (100 - 96 - 2), then 70 + (92 - 84 - 2); 42 s are left: 5 checkpoints.
  const sim::SpotRun warned = sim::spot_run(trace_of(150, {{0, 100, 4}}, 5), p, 4, 200, 0);
  CHECK(warned.wall_s == Approx(300 + 8 + 42 + 5 * 2));
  // Periods that are too short for a restart and a step never end.
  CHECK(std::isinf(sim::spot_run(trace_of(150, {{0, 19, 4}}), p, 4, 200, 0).wall_s));
  CHECK(std::isinf(sim::spot_run(trace, p, 5, 200, 0).wall_s));
}

TEST_CASE("nodes that never leave: a spot training is the closed form's") {
  sim::FailureProcess p = checkpointed(600, 20, 300);
  p.mttf_s = 20000;
  const sim::SpotRuns runs = sim::spot_runs(trace_of(86400, {{0, 86400, 8}}), p, 8, 6e6);
  CHECK(runs.mean.wall_s == Approx(6e6 / sim::goodput(p).share).epsilon(1e-9));
  CHECK(runs.mean.held_s == Approx(runs.mean.wall_s));
  CHECK(runs.mean.interruptions == 0);
  CHECK(runs.shortest_s == Approx(runs.longest_s));
}

TEST_CASE("the committed schema of availability follows from the format, and the example is read") {
  check_committed("scenarios/schema/availability.schema.json", sim::availability_schema().dump(1) + "\n");
  check_committed_table("sim/plan/README.md", "availability", sim::availability_format().table());

  const JsonDocument document = JsonDocument::load(LOCKSTEP_SOURCE_DIR "/scenarios/availability/office_week.json");
  const sim::Availability week = sim::availability_format().read(document.root());
  CHECK(week.length_s == 7 * 86400);
  CHECK(week.most_nodes() == 12);
  CHECK(sim::mean_holding_s(week, 4) == 0);  // four are never available together
  CHECK(sim::mean_holding_s(week, 8) > 5 * 3600);
}

}  // namespace lockstep::tests
