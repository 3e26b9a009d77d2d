// Failing trainings on SimGrid's clock against the closed forms of sim/failures.
#include "sim/replay/failure_clock.hpp"

#include <cmath>

#include "sim/failures/spot_run.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

constexpr double kHour_s = 3600;

FailureProcess process(double mttf_h, double interval_h, double checkpoint_h, double restart_h, double repair_h = 0,
                       int spares = 0) {
  FailureProcess p;
  p.mttf_s = mttf_h * kHour_s;
  p.interval_s = interval_h * kHour_s;
  p.checkpoint_s = checkpoint_h * kHour_s;
  p.restart_s = restart_h * kHour_s;
  p.repair_s = repair_h * kHour_s;
  p.spares = spares;
  return p;
}

// Wall times, then failures, then losses of all runs.
std::vector<double> clocked(const ClockedTrainings& trainings) {
  return in_child([&] {
    const std::vector<ClockedRun> runs = run_on_clock(trainings);
    std::vector<double> values;
    for (const ClockedRun& run : runs) values.push_back(run.wall_s);
    for (const ClockedRun& run : runs) values.push_back(run.failures);
    for (const ClockedRun& run : runs) values.push_back(run.losses);
    return values;
  });
}

double mean_of(const std::vector<double>& values, int first, int count) {
  double sum = 0;
  for (int i = first; i < first + count; ++i) sum += values[static_cast<std::size_t>(i)];
  return sum / count;
}

ClockedTrainings trainings_of(const FailureProcess& p, double useful_s, int runs, std::uint64_t seed = 7) {
  ClockedTrainings trainings;
  trainings.process = p;
  trainings.useful_s = useful_s;
  trainings.runs = runs;
  trainings.seed = seed;
  return trainings;
}

Availability trace_of(double length_s, const std::vector<AvailableInterval>& intervals, double notice_s = 0) {
  Availability trace;
  trace.length_s = length_s;
  trace.notice_s = notice_s;
  trace.intervals = intervals;
  return trace;
}

}  // namespace

TEST_CASE("clock: without failures a training takes its work and its checkpoints") {
  const std::vector<double> values = clocked(trainings_of(process(0, 1, 0.25, 5), 4 * kHour_s, 2));
  CHECK(values == std::vector<double>{5 * kHour_s, 5 * kHour_s, 0, 0, 0, 0});
}

TEST_CASE("clock: SimGrid's Monte Carlo agrees with the closed form within 2 %") {
  // About 20,000 failures a case: a standard error of 0.3 % where losses are half the time.
  for (const FailureProcess& p :
       {process(24, 1, 0.02, 0.25), process(3.1, 0.2, 0.01, 0.3), process(2, 2, 0.2, 1),
        process(10, 0.5, 0.02, 0.25, 5), process(10, 0.5, 0.02, 0.25, 12, 1), process(4, 0.5, 0.02, 0.1, 24, 5)}) {
    constexpr int kRuns = 40;
    const Goodput closed = goodput(p);
    const ClockedTrainings trainings = trainings_of(p, 500 * p.mttf_s * closed.share, kRuns);
    const std::vector<double> values = clocked(trainings);
    INFO(p.mttf_s / kHour_s << " h, " << p.spares << " spares");
    CHECK(trainings.useful_s / mean_of(values, 0, kRuns) == Approx(closed.share).epsilon(0.02));
    const double failures = (1 - closed.of_waiting) * mean_of(values, 0, kRuns) / p.mttf_s;
    CHECK(mean_of(values, kRuns, kRuns) == Approx(failures).epsilon(0.02));
  }
}

TEST_CASE("clock: runs go by their seed, and no two are alike") {
  const FailureProcess p = process(10, 0.5, 0.02, 0.25);
  const std::vector<double> one = clocked(trainings_of(p, 1e6, 3)), again = clocked(trainings_of(p, 1e6, 3));
  CHECK(one == again);
  CHECK(one != clocked(trainings_of(p, 1e6, 3, 8)));
  CHECK(one[0] != one[1]);
}

TEST_CASE("clock: on spot nodes without failures of hardware the trace is replayed to the second") {
  for (double notice_s : {0., 60.})
    for (double interval_h : {0.1, 0.5, 3.}) {
      const Availability trace =
          trace_of(48 * kHour_s,
                   {{0, 20 * kHour_s, 4}, {5 * kHour_s, 30 * kHour_s, 4}, {31 * kHour_s, 47 * kHour_s, 8}}, notice_s);
      ClockedTrainings trainings = trainings_of(process(0, interval_h, 50 / kHour_s, 0.2), 60 * kHour_s, kSpotStarts);
      trainings.trace = &trace;
      trainings.nodes = 6;
      const std::vector<double> values = clocked(trainings);
      for (int run = 0; run < kSpotStarts; ++run) {
        const SpotRun closed =
            spot_run(trace, trainings.process, 6, trainings.useful_s, run * trace.length_s / kSpotStarts);
        INFO("notice " << notice_s << " s, interval " << interval_h << " h, run " << run);
        CHECK(values[static_cast<std::size_t>(run)] == Approx(closed.wall_s).epsilon(1e-9));
        CHECK(values[static_cast<std::size_t>(run + 2 * kSpotStarts)] == closed.interruptions);
      }
    }
}

TEST_CASE("clock: spot nodes that fail besides agree with the closed form within 2 %") {
  const Availability trace = trace_of(48 * kHour_s, {{0, 20 * kHour_s, 4}, {22 * kHour_s, 47 * kHour_s, 4}});
  ClockedTrainings trainings = trainings_of(process(8, 0.25, 0.01, 0.2), 2000 * kHour_s, 120);
  trainings.trace = &trace;
  trainings.nodes = 4;
  const std::vector<double> values = clocked(trainings);
  const SpotRuns closed = spot_runs(trace, trainings.process, 4, trainings.useful_s);
  CHECK(mean_of(values, 0, 120) == Approx(closed.mean.wall_s).epsilon(0.02));
  CHECK(mean_of(values, 240, 120) == Approx(closed.mean.interruptions).epsilon(0.02));
}

TEST_CASE("clock: a trace without enough nodes never ends a training, and says so") {
  const Availability trace = trace_of(48 * kHour_s, {{0, 20 * kHour_s, 4}});
  ClockedTrainings trainings = trainings_of(process(0, 1, 0.1, 0.2), kHour_s, 1);
  trainings.trace = &trace;
  trainings.nodes = 5;
  CHECK(std::isinf(clocked(trainings)[0]));
}
