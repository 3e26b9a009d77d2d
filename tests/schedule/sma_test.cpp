// The tasks of Fig. 8, and the tasks for which they wait.
#include "sim/schedule/sma.hpp"

#include <algorithm>

#include "sim/collective/collectives.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

SmaCost small_cost() {
  SmaCost cost;
  cost.learning = {{"forward", 4e-3, 0.5}, {"backward", 6e-3, 1}};
  cost.local = {2e-3, 0.5};
  cost.update = {1e-3, 0.5};
  cost.aggregate = {1e-3, 1};
  cost.average = {3e-3, 1};
  cost.wire_bytes = 40'000'000;
  return cost;
}

std::vector<int> works(const Program& program, const std::string& name) {
  std::vector<int> found;
  for (std::size_t w = 0; w < program.work.size(); ++w)
    if (program.work[w].name == name) found.push_back(static_cast<int>(w));
  return found;
}

bool waits_for(const Program& program, int work, int other) {
  const std::vector<int>& after = program.work[static_cast<std::size_t>(work)].after;
  return std::find(after.begin(), after.end(), other) != after.end();
}

SmaOptions options(int gpus, int learners, int iterations) {
  SmaOptions o;
  o.gpus = gpus;
  o.learners = learners;
  o.iterations = iterations;
  return o;
}

}  // namespace

TEST_CASE("the mean fill of learning is by time") {
  CHECK(small_cost().learning_s() == Approx(10e-3));
  CHECK(small_cost().fill() == Approx((4 * 0.5 + 6 * 1.0) / 10));
}

TEST_CASE("each synchronisation takes in every learner once, and precedes every learner's next") {
  const Program program = sma(small_cost(), options(2, 3, 4), ring_all_reduce);
  const std::vector<int> local = works(program, "local synchronisation"), aggregate = works(program, "aggregate"),
                         average = works(program, "average model");
  REQUIRE(local.size() == 12);
  REQUIRE(aggregate.size() == 4);
  REQUIRE(average.size() == 4);
  CHECK(works(program, "all-reduce differences").size() == 4);
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(waits_for(program, aggregate[t], local[3 * t + j]));
      if (t > 0) CHECK(waits_for(program, local[3 * t + j], average[t - 1]));
    }
  // With overlap no learning task waits for another stream; its own stream orders it after its replica's update.
  for (int w : works(program, "forward")) CHECK(program.work[static_cast<std::size_t>(w)].after.empty());
  CHECK(program.draws == 4);
  CHECK(program.shares_gpu);
}

TEST_CASE("without overlap learning waits for the average model; tau thins synchronisation out; never leaves it out") {
  SmaOptions o = options(2, 2, 6);
  o.overlap = false;
  const Program strict = sma(small_cost(), o, ring_all_reduce);
  const std::vector<int> forward = works(strict, "forward"), average = works(strict, "average model");
  for (std::size_t t = 1; t < 6; ++t)
    for (std::size_t j = 0; j < 2; ++j) CHECK(waits_for(strict, forward[2 * t + j], average[t - 1]));

  o.tau = 3;
  const Program third = sma(small_cost(), o, ring_all_reduce);
  CHECK(works(third, "local synchronisation").size() == 4);
  CHECK(works(third, "update").size() == 8);
  CHECK(works(third, "average model").size() == 2);
  CHECK(third.bytes_sent_per_gpu_and_iteration() == Approx(strict.bytes_sent_per_gpu_and_iteration() / 3));

  o.tau = 0;
  const Program never = sma(small_cost(), o, ring_all_reduce);
  CHECK(works(never, "update").size() == 12);
  CHECK(works(never, "average model").empty());
  CHECK(never.bytes_sent_per_gpu_and_iteration() == 0);
}

TEST_CASE("round-robin hands out tasks in turn") {
  SmaOptions o = options(1, 3, 2);
  o.round_robin = true;
  const Program program = sma(small_cost(), o, ring_all_reduce);
  const std::vector<int> issues = works(program, "issue");
  REQUIRE(issues.size() == 6);
  for (std::size_t i = 1; i < issues.size(); ++i) CHECK(waits_for(program, issues[i], issues[i - 1]));
  for (std::size_t i = 0; i < issues.size(); ++i)
    CHECK(program.work[static_cast<std::size_t>(issues[i])].stream ==
          program.work[static_cast<std::size_t>(works(program, "forward")[i])].stream);
}

TEST_CASE("one GPU exchanges nothing") {
  CHECK(sma(small_cost(), options(1, 2, 2), ring_all_reduce).bytes_sent_per_gpu_and_iteration() == 0);
  // Two GPUs send half of the differences' sum to each other, twice.
  CHECK(sma(small_cost(), options(2, 2, 2), ring_all_reduce).bytes_sent_per_gpu_and_iteration() == Approx(40e6));
}
