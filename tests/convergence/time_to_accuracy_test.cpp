// Time to accuracy = ceil(epochs * samples / global batch) * iteration. Bounds combine the iteration and the epochs in
// quadrature. All numbers are worked by hand.
#include "sim/convergence/time_to_accuracy.hpp"

#include <cmath>

#include "sim/convergence/profile.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

ConvergenceSpec spec(double samples, double epochs) {
  return {"target", samples, epochs, {}};
}

}  // namespace

TEST_CASE("iterations are epochs times samples over the global batch, rounded up") {
  // 2 x 100 / 32 = 6.25 is rounded up to 7 iterations of half a second.
  const TimeToAccuracy rounded = time_to_accuracy(spec(100, 2), 0, 32, 0.5, 1, 1);
  CHECK(rounded.epochs == 2);
  CHECK(rounded.iterations == 7);
  CHECK(rounded.seconds == 3.5);
  CHECK(time_to_accuracy(spec(96, 2), 0, 32, 0.5, 1, 1).iterations == 6);
  CHECK(time_to_accuracy(spec(97, 2), 0, 32, 0.5, 1, 1).iterations == 7);
  CHECK(time_to_accuracy(spec(10, 0.5), 0, 1024, 0.5, 1, 1).iterations == 1);
  // ImageNet, 90 epochs at 64K: 90 x 1,281,167 / 65,536 = 1759.4
  CHECK(time_to_accuracy(spec(1281167, 90), 0, 65536, 0.25, 1, 1).iterations == 1760);
  CHECK(time_to_accuracy(spec(1281167, 90), 0, 65536, 0.25, 1, 1).seconds == 440);
}

TEST_CASE("bounds add the uncertainties of iteration and epochs in quadrature") {
  // 3-4-5 below, 5-12-13 above
  const TimeToAccuracy low = time_to_accuracy(spec(64, 1), 0.03, 32, 50, 0.96, 1);
  CHECK(low.seconds == 100);
  CHECK(low.low_s == Approx(95));
  CHECK(low.high_s == Approx(103));
  const TimeToAccuracy high = time_to_accuracy(spec(64, 1), 0.05, 32, 50, 1, 1.12);
  CHECK(high.low_s == Approx(95));
  CHECK(high.high_s == Approx(113));
}

TEST_CASE("local SGD without a law has the epochs of S-SGD, wider bounds, and says so") {
  const sim::ConvergenceSpec epochs{"", 1000, 10};
  const auto estimate = [&](double period) {
    return sim::iterations_to_target(epochs, {Algorithm::local_sgd, 25, 4, period, 0}, 100, 0);
  };
  CHECK(estimate(1).notes.empty());
  CHECK(estimate(1).bound.high == Approx(100));
  CHECK(estimate(8).bound.iterations == Approx(100));
  CHECK(estimate(8).bound.low < 100);
  CHECK(estimate(64).bound.high > estimate(8).bound.high);
  REQUIRE(estimate(8).notes.size() == 1);
  CHECK_THAT(estimate(8).notes[0], Contains("Local SGD is assumed to need the epochs of S-SGD"));
}

TEST_CASE("without uncertainty the bounds are the prediction, and none is below zero") {
  const TimeToAccuracy sure = time_to_accuracy(spec(64, 1), 0, 32, 50, 1, 1);
  CHECK(sure.low_s == 100);
  CHECK(sure.high_s == 100);
  const TimeToAccuracy unsure = time_to_accuracy(spec(64, 1), 0.9, 32, 50, 0.2, 1.8);
  CHECK(unsure.low_s == 0);
  CHECK(unsure.high_s == Approx(100 * (1 + std::sqrt(0.9 * 0.9 + 0.8 * 0.8))));
}

}  // namespace lockstep::sim
