#include "engine/sync/auto_tuner.hpp"

#include <stdexcept>
#include <vector>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

namespace lockstep::sync {
namespace {

/// Returns the number of learners after each observation of throughput[learners - 1], with relative noise.
std::vector<int> run(const std::vector<double>& throughput, int observations, double noise = 0) {
  TunerState state;
  std::vector<int> learners;
  for (int i = 0; i < observations; ++i) {
    const double jitter = 1 + noise * (2 * random_uniform(1, 0, static_cast<std::uint64_t>(i)) - 1);
    state = tune({}, state, jitter * throughput.at(static_cast<std::size_t>(state.learners - 1)));
    learners.push_back(state.learners);
  }
  return learners;
}

}  // namespace

TEST_CASE("The tuner climbs to a peak, looks one further, and stays") {
  const std::vector<int> learners = run({100, 180, 240, 270, 220, 150}, 40);
  CHECK(std::vector<int>(learners.begin(), learners.begin() + 6) == std::vector<int>{2, 3, 4, 5, 4, 4});
  for (std::size_t i = 6; i < learners.size(); ++i) CHECK(learners[i] == 4);
}

TEST_CASE("Noise below half the threshold does not move it") {
  const std::vector<int> learners = run({100, 180, 240, 270, 220, 150}, 200, 0.02);
  for (std::size_t i = 6; i < learners.size(); ++i) CHECK(learners[i] == 4);
}

// 285 is less than 5 % above 280: not worth the learner, which stays, as Alg. 2 removes only on a decrease.
TEST_CASE("On a plateau the tuner stops at the first learner that brings too little") {
  CHECK(run({100, 200, 280, 285, 286}, 8) == std::vector<int>{2, 3, 4, 4, 4, 4, 4, 4});
}

TEST_CASE("One learner is the least and most_learners the most") {
  CHECK(run({100, 50}, 5) == std::vector<int>{2, 1, 1, 1, 1});
  TunerState state;
  for (int i = 1; i <= 6; ++i) state = tune({0.05, 3}, state, 100 * state.learners);
  CHECK(state.learners == 3);
}

TEST_CASE("A changed workload is explored again") {
  TunerState state;
  for (const double throughput : {100.0, 180.0, 150.0, 180.0}) state = tune({}, state, throughput);
  REQUIRE(state.learners == 2);
  REQUIRE(state.too_many == 3);
  state = tune({}, state, 260);
  CHECK(state.learners == 3);
}

TEST_CASE("The tuner refuses what makes no sense") {
  CHECK_THROWS_AS(tune({}, {}, 0), std::invalid_argument);
  CHECK_THROWS_AS(tune({0, 4}, {}, 1), std::invalid_argument);
  CHECK_THROWS_AS(tune({0.1, 0}, {}, 1), std::invalid_argument);
}

}  // namespace lockstep::sync
