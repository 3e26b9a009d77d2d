// Clocks that are kept with samples, and waited for until they have settled.
#include <atomic>
#include <thread>

#include "calib/probe/calibrate.hpp"
#include "calib/probe/clock_watch.hpp"
#include "calib/sampler.hpp"
#include "tests/calib/planted_device.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

/// A run of 1 ms whose clock follows `clock_of`, by the run's number.
Timed clocked(double& now_s, int& run, const std::function<ClockSpan(int run)>& clock_of) {
  Timed timed;
  timed.run = [&] {
    now_s += 1e-3;
    ++run;
    return 1e-3;
  };
  timed.now_s = [&now_s] { return now_s; };
  timed.clocks = [&run, clock_of] { return clock_of(run); };
  return timed;
}

ClockSpan span_at(double hz) {
  ClockSpan span;
  span.lowest_hz = hz;
  return span;
}

}  // namespace

TEST_CASE("A watch tells the lowest clock of all devices since it was last asked, and every reason") {
  std::atomic<int> looks{0};
  std::atomic<double> hz{1.9e9};
  ClockWatch watch(
      [&] {
        ++looks;
        return std::vector<device::ClockState>{{1.98e9, 1.98e9, false, {"power cap"}}, {hz, 2e9, hz < 1.5e9, {}}};
      },
      1e-3);
  watch.since_last();
  hz = 1e9;
  const int before = looks;
  while (looks < before + 2) std::this_thread::yield();  // one that began before may not have seen it
  hz = 1.9e9;
  const ClockSpan span = watch.since_last();
  CHECK(span.lowest_hz == 1e9);
  CHECK(span.ratio == 0.5);
  CHECK(span.reasons == std::set<std::string>{"power cap"});
  const ClockSpan next = watch.since_last();
  CHECK(next.lowest_hz == 1.9e9);
  CHECK(next.ratio == 1);
}

TEST_CASE("The warm-up goes on until clocks have settled") {
  double now_s = 0;
  int run = 0;
  // It rises over 200 runs, far beyond the warm-up's 50 ms.
  const Timed timed = clocked(now_s, run, [](int n) { return span_at(std::min(1.98e9, 1e9 + 5e6 * n)); });
  const Series series = sample(timed, {});
  REQUIRE(series.clock_hz.size() == series.seconds.size());
  CHECK(series.is_settled);
  CHECK(series.clock_hz.front() >= 1.98e9 * 0.97);
  CHECK(series.runs.front() > 150);
  CHECK(series.flags().empty());
}

TEST_CASE("Clocks that do not settle are said, and do not keep a series from ending") {
  double now_s = 0;
  int run = 0;
  const Timed timed = clocked(now_s, run, [](int n) { return span_at(n % 2 == 0 ? 1e9 : 1.9e9); });
  const Series series = sample(timed, {});
  CHECK_FALSE(series.is_settled);
  CHECK(series.flags() == std::vector<std::string>{"unsettled"});
  CHECK(now_s < 3);
}

// The clock dropped while a run was under way and is up again at its end: a look at the end would not see it.
TEST_CASE("A run during which heat held the clock down does not count") {
  double now_s = 0;
  int run = 0;
  const Timed timed = clocked(now_s, run, [](int n) {
    ClockSpan span = span_at(1.98e9);
    if (n % 10 == 0) span.ratio = 0.5;
    return span;
  });
  const Series series = sample(timed, {});
  CHECK(series.throttled > 0);
  for (const std::size_t kept : series.runs) CHECK((kept + 1) % 10 != 0);
}

TEST_CASE("A sample keeps its clocks in the log and in the profile, one for each time") {
  Sample sample;
  sample.probe = "copy";
  sample.key = {{"from", "host"}, {"to", "gpu0"}, {"both_ways", false}, {"bytes", 64}};
  sample.seconds = {1e-5, 2e-5};
  sample.clock_hz = {1.98e9, 1.41e9};
  sample.clock_reasons = {"power cap"};
  const JsonDocument document = JsonDocument::parse(to_json(sample).dump(), "sample");
  const Sample read = sample_from_json(document.root());
  CHECK(read.clock_hz == sample.clock_hz);
  CHECK(read.clock_reasons == sample.clock_reasons);
  Json other = to_json(sample);
  other["clock_hz"] = {1e9};
  const JsonDocument wrong = JsonDocument::parse(other.dump(), "sample");
  CHECK_THROWS_WITH(sample_from_json(wrong.root()), Contains("/clock_hz") && Contains("1 clocks for 2 times"));
  Profile profile;
  profile.samples = {sample};
  CHECK_THAT(report_text(profile),
             Contains("Clocks while measured: 1.41 to 1.98 GHz, not higher for power cap (1 series)"));
}
