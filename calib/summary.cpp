#include "calib/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/base/statistics.hpp"

namespace lockstep::calib {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kLeastUnbiased = 8;       // samples; below, the first-order correction is too inexact
constexpr double kMostCorrelation = 0.98;  // below 1, which would mean that no number of samples suffices
constexpr double kScaledMad = 1.4826;      // MAD times this is the standard deviation, for a normal distribution

int count_outliers(const std::vector<double>& seconds, double middle) {
  std::vector<double> deviations;
  for (double s : seconds) deviations.push_back(std::abs(s - middle));
  const double limit = std::max(5 * kScaledMad * median(deviations), 0.02 * middle);
  return static_cast<int>(std::count_if(deviations.begin(), deviations.end(), [=](double d) { return d > limit; }));
}

double lag_one_correlation(const std::vector<double>& x) {
  const double average = mean(x);
  double above = 0, below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    below += (x[i] - average) * (x[i] - average);
    if (i > 0) above += (x[i] - average) * (x[i - 1] - average);
  }
  return below > 0 ? above / below : 0;
}

// Lag-1 correlation of the signs of x - median, corrected for bias. For n samples around their own median, the mean is
// r - (1 + 3 r) / n.
double sign_correlation(const std::vector<double>& x) {
  const double middle = median(x);
  const auto sign = [middle](double value) { return (value > middle) - (value < middle); };
  int products = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += sign(x[i]) * sign(x[i]);
    if (i > 0) products += sign(x[i]) * sign(x[i - 1]);
  }
  if (squares == 0) return 0;
  const double n = static_cast<double>(x.size()), shown = static_cast<double>(products) / squares;
  return n < kLeastUnbiased ? shown : std::min((shown + 1 / n) / (1 - 3 / n), kMostCorrelation);
}

// Mann-Kendall: S = number of rising pairs - number of falling pairs; the variance is corrected for ties.
double trend_p_value(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size());
  if (x.size() < 8) return 1;
  double s = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = i + 1; j < x.size(); ++j) s += (x[j] > x[i]) - (x[j] < x[i]);
  std::map<double, double> ties;
  for (double value : x) ++ties[value];
  double variance = n * (n - 1) * (2 * n + 5);
  for (const auto& [value, t] : ties) variance -= t * (t - 1) * (2 * t + 5);
  variance /= 18;
  if (variance <= 0 || s == 0) return 1;
  const double z = (std::abs(s) - 1) / std::sqrt(variance);
  return 2 * (1 - normal_cdf(z));
}

double relative_drift(const std::vector<double>& x) {
  const std::size_t third = x.size() / 3;
  if (third == 0) return 0;
  const std::vector<double> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(third));
  const std::vector<double> last(x.end() - static_cast<std::ptrdiff_t>(third), x.end());
  return median(last) / median(first) - 1;
}

}  // namespace

// The median lies between the order statistics k and n + 1 - k with probability 1 - 2 P(Binomial(n, 1/2) < k).
std::pair<int, int> median_interval_ranks(int n) {
  double below = 0;  // P(Binomial(n, 1/2) < k)
  int k = 0;
  for (double log_next = n * std::log(0.5); k < n / 2; ++k) {  // logarithms: 0.5^n underflows for n >= 1075
    if (2 * (below + std::exp(log_next)) > 1 - kConfidence) break;
    below += std::exp(log_next);
    log_next += std::log(static_cast<double>(n - k) / (k + 1));
  }
  if (k == 0) return {1, n};
  return {k, n + 1 - k};
}

std::pair<int, int> median_interval_ranks(int n, double effective) {
  const int m = static_cast<int>(effective);
  if (m >= n) return median_interval_ranks(n);
  if (m < 6) return {1, n};
  const double away = ((m + 1) / 2.0 - median_interval_ranks(m).first) / m;  // of the lower rank, as a fraction of m
  const int low = std::max(1, static_cast<int>(std::floor((n + 1) / 2.0 - away * n)));
  return {low, n + 1 - low};
}

double effective_count(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size()), r = sign_correlation(x);
  if (r <= 0) return n;
  const double rho = std::sin(M_PI * r / 2);
  double sum = 0, power = 1;
  for (double k = 1; k < n && power > 1e-6; ++k) {
    power *= rho;
    sum += (1 - k / n) * 2 / M_PI * std::asin(power);
  }
  return std::max(1.0, n / (1 + 2 * sum));
}

Summary summarise(const std::vector<double>& seconds) {
  if (seconds.empty()) throw std::invalid_argument("no samples to summarise");
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.effective_count = effective_count(seconds);
  const auto [low, high] = median_interval_ranks(static_cast<int>(sorted.size()), summary.effective_count);
  summary.count = static_cast<int>(seconds.size());
  summary.median_s = median(seconds);
  summary.low_s = sorted[static_cast<std::size_t>(low - 1)];
  summary.high_s = sorted[static_cast<std::size_t>(high - 1)];
  if (summary.median_s > 0) summary.relative_half_width = (summary.high_s - summary.low_s) / (2 * summary.median_s);
  summary.outliers = count_outliers(seconds, summary.median_s);
  summary.autocorrelation = lag_one_correlation(seconds);
  summary.drift_p = trend_p_value(seconds);
  summary.drift = relative_drift(seconds);
  return summary;
}

}  // namespace lockstep::calib
