#include "sim/explain/scoring.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::explain {
namespace {

constexpr double kFreedom = 4;              // of Student's t
constexpr double kDeviationsOf80 = 2.5631;  // of a normal distribution, from the 10th to the 90th percentile
constexpr int kSteps = 200;                 // of the integral over b
constexpr double kReach = 6;                // standard deviations of b

double log_student(double z) {
  static const double constant =
      std::lgamma((kFreedom + 1) / 2) - std::lgamma(kFreedom / 2) - 0.5 * std::log(kFreedom * M_PI);
  return constant - (kFreedom + 1) / 2 * std::log1p(z * z / kFreedom);
}

double log_sum(const std::vector<double>& values) {
  const double most = *std::max_element(values.begin(), values.end());
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (double value : values) sum += std::exp(value - most);
  return most + std::log(sum);
}

}  // namespace

double Expected::deviation() const {
  const double width = low_s > 0 && high_s > low_s ? std::log(high_s / low_s) / kDeviationsOf80 : 0;
  return std::max(width, kLeastDeviation);
}

Expected with_deviation(double seconds, double deviation) {
  const double reach = std::exp(kDeviationsOf80 / 2 * deviation);
  return {seconds, seconds / reach, seconds * reach};
}

double log_likelihood(const std::vector<double>& measured_s, const std::vector<Expected>& expected,
                      const std::vector<double>& weights) {
  const double own = std::sqrt(1 - kSharedVariance), shared = std::sqrt(kSharedVariance);
  std::vector<double> z, scales;
  for (std::size_t i = 0; i < measured_s.size(); ++i) {
    scales.push_back(expected[i].deviation());
    z.push_back(std::log(measured_s[i] / expected[i].seconds) / scales.back());
  }
  std::vector<double> terms;
  for (int step = 0; step <= kSteps; ++step) {
    const double b = kReach * (2.0 * step / kSteps - 1);
    double term = -0.5 * b * b - 0.5 * std::log(2 * M_PI) + std::log(2 * kReach / kSteps);
    for (std::size_t i = 0; i < z.size(); ++i)
      term += weights[i] * (log_student((z[i] - shared * b) / own) - std::log(own * scales[i]));
    terms.push_back(term);
  }
  return log_sum(terms);
}

std::vector<double> normalised(const std::vector<double>& log_weights) {
  const double total = log_sum(log_weights);
  std::vector<double> probabilities;
  for (double weight : log_weights) probabilities.push_back(std::exp(weight - total));
  return probabilities;
}

double log_mean(const std::vector<double>& values) {
  return log_sum(values) - std::log(static_cast<double>(values.size()));
}

}  // namespace lockstep::sim::explain
