// Iterations by the number of workers: a table's points, with power laws between them.
#include "sim/convergence/time_to_accuracy.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace lockstep::sim;

TEST_CASE("iterations between two entries of the table follow the power law through both") {
  ConvergenceSpec c;
  c.train_samples = 1000;
  c.iterations_by_workers = {{50, 1000}, {100, 600}, {200, 500}};
  CHECK(iterations_to_target(c, 50, 1) == Approx(1000));
  CHECK(iterations_to_target(c, 100, 1) == Approx(600));
  // Half-way in the logarithm of workers, they are geometric means.
  CHECK(iterations_to_target(c, 50 * std::sqrt(2), 1) == Approx(std::sqrt(1000.0 * 600)));
  CHECK(iterations_to_target(c, 100 * std::sqrt(2), 1) == Approx(std::sqrt(600.0 * 500)));
  // Beyond the ends, the slope at the end applies.
  CHECK(iterations_to_target(c, 25, 1) == Approx(1000 * 1000 / 600.0));
  CHECK(iterations_to_target(c, 400, 1) == Approx(500 * 500 / 600.0));
}

TEST_CASE("without a table iterations follow from epochs; with one the epochs follow from iterations") {
  ConvergenceSpec c;
  c.train_samples = 1000;
  c.epochs = 6;
  CHECK(iterations_to_target(c, 7, 20) == Approx(300));
  c.iterations_by_workers = {{10, 400}};
  const TimeToAccuracy t = time_to_accuracy(c, 0, 50, 0.5, 1, 1, 10);
  CHECK(t.iterations == 400);
  CHECK(t.seconds == Approx(200));
  CHECK(t.epochs == Approx(20));
}
