// Calibrated bounds: laws, then the formula by hand, from a point's interval of inputs to its bounds.
#include "sim/point/calibration.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

PointResult point_of(double low, double high) {
  PointResult point;
  point.gpus = 8;
  point.samples_per_iteration = 80;
  point.iteration_s = {0.1};
  point.interval.low = low;
  point.interval.high = high;
  point.interval.spread = {0.03, 0.04, 0};
  point.training_interval = point.interval;
  return point;
}

Scenario calibrated(const IntervalCalibration& samples_per_s, const IntervalCalibration& training) {
  Scenario scenario;
  scenario.cluster.gpus_per_node = 8;
  scenario.uncertainty.calibration = CalibrationSpec{samples_per_s, training};
  return scenario;
}

}  // namespace

TEST_CASE("a scenario without a calibration has the 80 % interval of a normal distribution") {
  PointResult point = point_of(0.9, 1.2);  // one standard deviation
  calibrate_intervals(Scenario(), point);
  CHECK(sim::reach_of_80_percent() == Approx(1.2816).epsilon(1e-4));
  CHECK(point.interval.low == Approx(1 - 1.2816 * 0.1).epsilon(1e-4));
  CHECK(point.interval.high == Approx(1 + 1.2816 * 0.2).epsilon(1e-4));
  PointResult wide = point_of(0.1, 3);
  calibrate_intervals(Scenario(), wide);
  CHECK(wide.interval.low > 0);  // a time is never below zero
  Scenario scenario;
  scenario.uncertainty.epochs = 0.1;
  CHECK(sim::epochs_half_width(scenario) == Approx(0.12816).epsilon(1e-4));
}

TEST_CASE("calibrated bounds are the formula's, and hold the value whatever the inputs") {
  const IntervalCalibration rate{0.15, 0, true, 1.5, 0.8}, training{0.2, 0, false, 2, 3};
  PointResult point = point_of(0.9, 1.2);
  calibrate_intervals(calibrated(rate, training), point);
  // More samples/s is less time: `above` bounds the shorter iteration.
  const double faster = -std::log(1 - std::hypot(0.1, 0.01)), slower = std::log(1 + std::hypot(0.2, 0.01));
  CHECK(point.interval.low == Approx(std::exp(-0.8 * std::hypot(0.15, faster))));
  CHECK(point.interval.high == Approx(std::exp(1.5 * std::hypot(0.15, slower))));
  CHECK(point.training_interval.low == Approx(std::exp(-2 * 0.2)));
  CHECK(point.training_interval.high == Approx(std::exp(3 * 0.2)));
  // The groups keep their proportion and make up the half width.
  const InputSpread& spread = point.interval.spread;
  CHECK(spread.bandwidth / spread.compute == Approx(0.04 / 0.03));
  CHECK(std::hypot(spread.compute, spread.bandwidth) == Approx((point.interval.high - point.interval.low) / 2));

  PointResult exact = point_of(1, 1);
  calibrate_intervals(calibrated(rate, training), exact);
  CHECK(exact.interval.low < 1);
  CHECK(exact.interval.high > 1);
}

TEST_CASE("what nodes decode counts where an iteration waits for it") {
  const IntervalCalibration rate{0.15, 0.4, true, 1, 1};
  Scenario scenario = calibrated(rate, rate);
  scenario.input.samples_per_s_per_node = 2000;  // the point trains 800 samples/s
  PointResult point = point_of(0.9, 1.1);
  calibrate_intervals(scenario, point);
  const double without = point.interval.high;
  scenario.input.samples_per_s_per_node = 800;
  point = point_of(0.9, 1.1);
  calibrate_intervals(scenario, point);
  CHECK(point.interval.high > without);
  CHECK(point.interval.high ==
        Approx(std::exp(std::hypot(0.15, std::hypot(std::log(1 + std::hypot(0.1, 0.01)), 0.4)))));
}

TEST_CASE("no bound is farther than the most of its calibration") {
  IntervalCalibration rate{0.15, 0, true, 5, 5};
  rate.most_below = 0.3;
  CHECK(factor_below(rate, 2) == Approx(std::exp(0.3)));
  CHECK(factor_above(rate, 2) == Approx(std::exp(kWidestBound)));
}
