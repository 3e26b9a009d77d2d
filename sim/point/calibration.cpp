#include "sim/point/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::point {
namespace {

constexpr double kLeastOfTime = 0.01;  // of a time, at the lower end of its interval
constexpr double kWaits = 0.95;        // a run waits for decoding above this share of the nodes' decoding rate

// Scales the spread of each group of inputs, so that together they give the calibrated width. Two points share these
// errors, which cancel between them.
void scale_spread(RelativeInterval& interval) {
  InputSpread& spread = interval.spread;
  const double wanted = (interval.high - interval.low) / 2;
  const double of_inputs = std::hypot(spread.compute, spread.bandwidth, spread.latency);
  if (of_inputs <= 0) {
    spread.compute = wanted;
    return;
  }
  for (double* part : {&spread.compute, &spread.bandwidth, &spread.latency}) *part *= wanted / of_inputs;
}

void widen(RelativeInterval& interval) {
  const double reach = reach_of_80_percent();
  interval.low = std::max(std::min(kLeastOfTime, interval.low), 1 - reach * (1 - interval.low));
  interval.high = 1 + reach * (interval.high - 1);
  for (double* part : {&interval.spread.compute, &interval.spread.bandwidth, &interval.spread.latency}) *part *= reach;
}

}  // namespace

double reach_of_80_percent() {
  return normal_quantile(0.9);
}

double epochs_half_width(const Scenario& scenario) {
  return scenario.uncertainty.epochs * (scenario.uncertainty.calibration ? 1 : reach_of_80_percent());
}

double log_distance(double low, double high) {
  return low > 0 && high > 0 ? std::clamp(std::log(high / low), 0.0, kWidestBound) : kWidestBound;
}

double half_width(const IntervalCalibration& calibration, double off) {
  return calibration.counts_inputs ? std::hypot(calibration.always, off) : calibration.always;
}

double factor_below(const IntervalCalibration& calibration, double off) {
  return std::exp(std::min(calibration.most_below, calibration.below * half_width(calibration, off)));
}

double factor_above(const IntervalCalibration& calibration, double off) {
  return std::exp(std::min(calibration.most_above, calibration.above * half_width(calibration, off)));
}

bool waits_for_input(const Scenario& scenario, int gpus, double samples_per_s) {
  const double nodes = double(gpus) / std::min(gpus, scenario.cluster.gpus_per_node);
  return scenario.input.samples_per_s_per_node > 0 &&
         samples_per_s > kWaits * scenario.input.samples_per_s_per_node * nodes;
}

// A training to a loss is its tokens over the rate, so results of whole trainings do not calibrate it.
bool trains_to_loss(const Scenario& scenario) {
  const auto& convergence = scenario.convergence;
  return convergence && convergence->profile && convergence->profile->targets.front().loss > 0;
}

void calibrate_intervals(const Scenario& scenario, PointResult& point) {
  if (!scenario.uncertainty.calibration) {
    widen(point.interval);
    widen(point.training_interval);
    return;
  }
  const RelativeInterval of_inputs = point.interval;
  const double faster = log_distance(1 - std::hypot(1 - of_inputs.low, kLeastError), 1);
  const double slower = log_distance(1, 1 + std::hypot(of_inputs.high - 1, kLeastError));
  const bool waits = waits_for_input(scenario, point.gpus, point.samples_per_s());
  const auto& [rate, training] = *scenario.uncertainty.calibration;
  const auto with_input = [&](double off, const IntervalCalibration& of) {
    return std::hypot(off, waits ? of.input : 0);
  };
  point.interval.low = 1 / factor_above(rate, with_input(faster, rate));
  point.interval.high = factor_below(rate, with_input(slower, rate));
  scale_spread(point.interval);
  point.training_interval.spread = of_inputs.spread;
  point.training_interval.low = 1 / factor_below(training, with_input(faster, training));
  point.training_interval.high = factor_above(training, with_input(slower, training));
  scale_spread(point.training_interval);
  if (trains_to_loss(scenario)) point.training_interval = point.interval;
}

}  // namespace lockstep::sim::point
