#include "engine/sync/learning_rate.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

namespace lockstep::sync {

TEST_CASE("Constant rate with a linear warm-up over 4 iterations from 0.2 to 1") {
  LearningRate schedule;
  schedule.base = 1;
  schedule.warmup = 4;
  schedule.warmup_start = 0.2;
  CHECK(learning_rate(schedule, 0) == Approx(0.4));
  CHECK(learning_rate(schedule, 1) == Approx(0.6));
  CHECK(learning_rate(schedule, 3) == Approx(1));
  CHECK(learning_rate(schedule, 4) == Approx(1));
}

TEST_CASE("Steps: a tenth at iteration 30 and again at 60") {
  LearningRate schedule;
  schedule.kind = LearningRate::Kind::kSteps;
  schedule.boundaries = {30, 60};
  CHECK(learning_rate(schedule, 29) == Approx(0.1));
  CHECK(learning_rate(schedule, 30) == Approx(0.01));
  CHECK(learning_rate(schedule, 59) == Approx(0.01));
  CHECK(learning_rate(schedule, 1000) == Approx(0.001));
}

// Half-way from 20 to 30, the square gives (1 - 1/2)^2 = 1/4 of the distance from 0.2 to 1.
TEST_CASE("Polynomial decay between begin and finish") {
  LearningRate schedule;
  schedule.kind = LearningRate::Kind::kPolynomial;
  schedule.base = 1;
  schedule.begin = 20;
  schedule.finish = 30;
  schedule.end = 0.2;
  schedule.power = 2;
  CHECK(learning_rate(schedule, 0) == 1);
  CHECK(learning_rate(schedule, 20) == 1);
  CHECK(learning_rate(schedule, 25) == Approx(0.4));
  CHECK(learning_rate(schedule, 30) == Approx(0.2));
  CHECK(learning_rate(schedule, 99) == Approx(0.2));
}

TEST_CASE("Half a cosine between begin and finish") {
  LearningRate schedule;
  schedule.kind = LearningRate::Kind::kCosine;
  schedule.base = 0.4;
  schedule.end = 0.1;
  schedule.begin = 10;
  schedule.finish = 40;
  check(schedule);
  CHECK(learning_rate(schedule, 0) == 0.4);
  CHECK(learning_rate(schedule, 10) == 0.4);
  CHECK(learning_rate(schedule, 20) == Approx(0.1 + 0.3 * 0.75));  // (1 + cos 60 degrees) / 2
  CHECK(learning_rate(schedule, 25) == Approx(0.25));
  CHECK(learning_rate(schedule, 40) == Approx(0.1));
  CHECK(learning_rate(schedule, 400) == Approx(0.1));
}

TEST_CASE("Schedules out of range are refused") {
  LearningRate schedule;
  CHECK_NOTHROW(check(schedule));
  schedule.base = 0;
  CHECK_THROWS_WITH(check(schedule), "learning rate: the base rate must be positive");
  schedule = {};
  schedule.kind = LearningRate::Kind::kSteps;
  schedule.boundaries = {30, 30};
  CHECK_THROWS_WITH(check(schedule), "learning rate: the boundaries of steps must rise");
  schedule = {};
  schedule.kind = LearningRate::Kind::kPolynomial;
  schedule.finish = 0;
  CHECK_THROWS_WITH(check(schedule), "learning rate: annealing must finish after it begins");
}

}  // namespace lockstep::sync
