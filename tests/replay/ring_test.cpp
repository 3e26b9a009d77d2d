// Rounds of a ring against the recurrence itself.
#include "sim/replay/ring.hpp"

#include <algorithm>
#include <random>

#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using sim::Ring;

Ring ring_of(int members, double duration_s) {
  Ring ring;
  for (int i = 0; i < members; ++i) ring.members.push_back(i);
  ring.duration_s.assign(ring.members.size(), duration_s);
  return ring;
}

std::vector<double> arrivals(int members, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> factor(0, 0.05);
  std::vector<double> times_s;
  for (int i = 0; i < members; ++i) times_s.push_back(0.1 * factor(random));
  return times_s;
}

// x'[i] = max(max(x[i], x[i+1]) + d[i], max(x[i-1], x[i]) + d[i-1]), round by round.
std::vector<double> by_recurrence(const Ring& ring, int rounds, std::vector<double> x) {
  const std::size_t n = x.size();
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> sent_s(n), next(n);
    for (std::size_t i = 0; i < n; ++i) sent_s[i] = std::max(x[i], x[(i + 1) % n]) + ring.duration_s[i];
    for (std::size_t i = 0; i < n; ++i) next[i] = std::max(sent_s[i], sent_s[(i + n - 1) % n]);
    x = next;
  }
  return x;
}

}  // namespace

TEST_CASE("a ring's rounds are its recurrence") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Ring ring = ring_of(37, 1e-4);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> factor(0.5, 1.5);
    if (seed > 1)
      for (double& duration_s : ring.duration_s) duration_s *= factor(random);
    for (const int rounds : {1, 5, 36, 500}) {
      std::vector<double> times_s = arrivals(37, seed);
      const std::vector<double> expected_s = by_recurrence(ring, rounds, times_s);
      (void)sim::run_ring(ring, rounds, times_s);
      for (std::size_t i = 0; i < times_s.size(); ++i) CHECK(times_s[i] == Approx(expected_s[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("members that finished one ring together need only one evaluated round in the next") {
  const int members = 20000;
  const Ring ring = ring_of(members, 2.5e-6);
  std::vector<double> times_s = arrivals(members, 7);
  const std::int64_t first = sim::run_ring(ring, members - 1, times_s);
  CHECK(first < 60 * members);
  const double ended_s = *std::max_element(times_s.begin(), times_s.end());
  for (int pass = 1; pass <= 4; ++pass) {
    CHECK(sim::run_ring(ring, members - 1, times_s) == members);
    for (const double time_s : {times_s.front(), times_s[members / 3], times_s.back()})
      CHECK(time_s == Approx(ended_s + pass * (members - 1) * 2.5e-6).epsilon(1e-11));
  }
}

}  // namespace lockstep::tests
