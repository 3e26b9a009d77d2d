// Tests the measurements that support or contradict a cause.
#include <cmath>
#include <set>

#include "sim/explain/causes.hpp"
#include "sim/explain/check.hpp"
#include "sim/explain/check_text.hpp"
#include "sim/explain/ranking.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

sim::Expected sharp(double seconds) {
  return sim::with_deviation(seconds, 0.1);
}

// Expected to take 1 s each.
std::vector<sim::Observation> observed(const std::vector<double>& measured_s) {
  std::vector<sim::Observation> all;
  for (double seconds : measured_s) all.push_back({"size", seconds, sharp(1), sharp(1), 0, 0, 1, "a.log"});
  return all;
}

sim::CandidateCause with_times(sim::CauseId id, const std::vector<double>& seconds) {
  sim::CandidateCause cause{id, {{"", {}, 1}}};
  for (double s : seconds) cause.variants.front().expected.push_back(sharp(s));
  return cause;
}

const sim::RankedCause& ranked(const std::vector<sim::RankedCause>& all, sim::CauseId id) {
  for (const sim::RankedCause& one : all)
    if (one.id == id) return one;
  throw std::logic_error("no such cause");
}

}  // namespace

TEST_CASE("each cause's evidence is the measurement that tells it from the others") {
  // Bandwidth explains the last measurement and not the first; latency the first and not the last; both the middle one.
  const auto causes = sim::rank_causes(
      observed({1, 2, 4}), {with_times(sim::CauseId::normal, {1, 1, 1}), with_times(sim::CauseId::slow_nic, {1, 2, 4}),
                            with_times(sim::CauseId::slow_launch, {3, 2, 1})});
  const sim::RankedCause& nic = ranked(causes, sim::CauseId::slow_nic);
  const sim::RankedCause& launch = ranked(causes, sim::CauseId::slow_launch);
  const sim::RankedCause& normal = ranked(causes, sim::CauseId::normal);
  CHECK(causes.front().id == sim::CauseId::slow_nic);
  REQUIRE(launch.most_against);
  CHECK(launch.most_against->observation != 1);
  CHECK(launch.most_against->expected_s == Approx(launch.most_against->observation == 0 ? 3 : 1));
  REQUIRE(normal.most_against);
  CHECK(normal.most_against->observation == 2);
  CHECK(normal.most_against->log_ratio < 0);
  REQUIRE(nic.most_for);
  CHECK(nic.most_for->log_ratio > 0);
  CHECK(nic.median_error == Approx(0).margin(1e-12));
}

TEST_CASE("of two causes, what speaks for one speaks against the other, as much") {
  const auto causes = sim::rank_causes(observed({1.4, 2, 3}), {with_times(sim::CauseId::normal, {1, 1, 1}),
                                                               with_times(sim::CauseId::slow_nic, {3, 2, 3})});
  const sim::RankedCause& nic = ranked(causes, sim::CauseId::slow_nic);
  const sim::RankedCause& normal = ranked(causes, sim::CauseId::normal);
  REQUIRE((nic.most_for && nic.most_against && normal.most_for && normal.most_against));
  CHECK(nic.most_for->observation == normal.most_against->observation);
  CHECK(nic.most_for->log_ratio == Approx(-normal.most_against->log_ratio));
  CHECK(nic.most_against->observation == 0);
}

TEST_CASE("a single measurement is evidence for a cause or against it, and one cause alone has none") {
  const auto causes =
      sim::rank_causes(observed({2}), {with_times(sim::CauseId::normal, {1}), with_times(sim::CauseId::slow_nic, {2})});
  for (const sim::RankedCause& one : causes) CHECK(one.most_for.has_value() != one.most_against.has_value());
  const auto alone = sim::rank_causes(observed({2}), {with_times(sim::CauseId::normal, {1})});
  CHECK_FALSE(alone.front().most_for);
  CHECK_FALSE(alone.front().most_against);
  CHECK(alone.front().probability == 1);
}

TEST_CASE("every cause has tests with the value that decides, and the first test decides the largest probability") {
  for (const sim::Cause& cause : sim::causes()) {
    INFO(cause.title);
    CHECK((cause.id == sim::CauseId::normal) == cause.tests.empty());
    for (const sim::DecidingTest& test : cause.tests) {
      CHECK_FALSE(test.run.empty());
      CHECK_FALSE(test.yes_if.empty());
    }
  }
  CHECK(sim::test_text({"ibstat", "no port is Active"}) == "ibstat: yes if no port is Active");
  sim::CheckResult result;
  result.speed = sim::Speed::slow;
  const auto add = [&](sim::CauseId id, double probability) {
    sim::RankedCause cause;
    cause.id = id;
    cause.probability = probability;
    cause.tests = sim::cause_of(id).tests;
    result.causes.push_back(cause);
  };
  add(sim::CauseId::slow_nic, 0.4);
  add(sim::CauseId::sockets, 0.25);
  add(sim::CauseId::no_gpudirect, 0.2);
  add(sim::CauseId::normal, 0.15);
  CHECK(sim::first_test_text(result) ==
        "Begin with: NCCL_DEBUG=INFO. It decides on 2 of these causes, together 45 %.\n");
}

}  // namespace lockstep::tests
