#include "engine/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

const double kPi = std::acos(-1.0);

std::vector<double> random_samples(std::size_t count) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(random_normal(1, 2, i));
  return samples;
}

TEST_CASE("Mean and standard deviation follow their definitions") {
  CHECK(mean({2, 4, 4, 4, 5, 5, 7, 9}) == 5);
  CHECK(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}) == Approx(std::sqrt(32.0 / 7)).epsilon(1e-15));
  CHECK(standard_deviation({3}) == 0);
  CHECK(standard_deviation({}) == 0);
  CHECK_THROWS_AS(mean({}), std::invalid_argument);
}

TEST_CASE("Standard deviation does not cancel on a large offset") {
  CHECK(standard_deviation({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) == Approx(std::sqrt(30.0)).epsilon(1e-12));
}

TEST_CASE("Quantiles interpolate between order statistics") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({4, 1, 3, 2}, 0.25) == 1.75);  // Hyndman and Fan type 7, as R's quantile(c(4, 1, 3, 2), 0.25)
  CHECK(quantile({7}, 0.3) == 7);
  CHECK(median({9, 1, 5}) == 5);
  CHECK_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(quantile({1}, 1.01), std::invalid_argument);
  CHECK_THROWS_AS(quantile({1}, std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
}

TEST_CASE("The quantile at k over n minus 1 is the sorted sample k") {
  const std::vector<double> samples = random_samples(129);  // k / 128 is exact
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 0; k < sorted.size(); ++k) CHECK(quantile(samples, static_cast<double>(k) / 128) == sorted[k]);
}

TEST_CASE("Quantiles grow with q") {
  const std::vector<double> samples = random_samples(17);
  double last = quantile(samples, 0);
  for (int i = 1; i <= 1000; ++i) {
    const double next = quantile(samples, i / 1000.0);
    CHECK(next >= last);
    last = next;
  }
}

TEST_CASE("Normal quantiles match the tables") {
  CHECK(normal_quantile(0.5) == Approx(0).margin(1e-15));
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-12));
  CHECK(normal_quantile(0.99) == Approx(2.326347874040841).epsilon(1e-12));
  CHECK(normal_quantile(0.075) == Approx(-1.4395314709384557).epsilon(1e-14));  // where the formulas meet
  CHECK(normal_quantile(1 - 0.075) == Approx(1.4395314709384557).epsilon(1e-14));
  CHECK(normal_quantile(std::exp(-25.0)) == Approx(-6.6579046435011).epsilon(1e-10));
  CHECK(normal_quantile(1e-9) == Approx(-5.997807015007687).epsilon(1e-12));
  CHECK(normal_quantile(1e-300) == Approx(-37.0470962993612).epsilon(1e-12));
  CHECK(normal_quantile(0) == -std::numeric_limits<double>::infinity());
  CHECK(normal_quantile(1) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(normal_quantile(1.5)));
  CHECK(std::isnan(normal_quantile(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("The normal quantile inverts the distribution function") {
  for (double x = -8; x <= 5; x += 0.0625) {  // above 5 the digits of p near 1 no longer hold x
    INFO(x);
    CHECK(normal_quantile(normal_cdf(x)) == Approx(x).margin(1e-9));
  }
}

TEST_CASE("The expected maximum of a few normal variables has closed forms") {
  CHECK(expected_normal_maximum(1) == 0);
  CHECK(expected_normal_maximum(2) == Approx(1 / std::sqrt(kPi)).epsilon(1e-12));
  CHECK(expected_normal_maximum(3) == Approx(1.5 / std::sqrt(kPi)).epsilon(1e-12));
  CHECK(expected_normal_maximum(4) == Approx(6 * std::atan(std::sqrt(2.0)) / std::pow(kPi, 1.5)).epsilon(1e-12));
  CHECK(expected_normal_maximum(5) ==
        Approx(5 / std::sqrt(kPi) * (0.25 + 1.5 / kPi * std::asin(1.0 / 3))).epsilon(1e-12));
  CHECK_THROWS_AS(expected_normal_maximum(0), std::invalid_argument);
}

/// Computes E[max] as the integral over (0, inf) of 1 - Phi(x)^n - Phi(-x)^n, another formula, by Simpson's rule.
double expected_maximum_by_tails(int n) {
  const auto integrand = [n](double x) {
    return -std::expm1(n * std::log1p(-normal_cdf(-x))) - std::pow(normal_cdf(-x), n);
  };
  const int steps = 6000;
  const double width = 12.0 / steps;
  double sum = integrand(0) + integrand(12);
  for (int i = 1; i < steps; ++i) sum += (i % 2 ? 4 : 2) * integrand(width * i);
  return sum * width / 3;
}

TEST_CASE("The expected maximum agrees with the integral of the tails") {
  for (const int n : {2, 7, 10, 64, 100, 1000, 4096, 100000}) {
    INFO(n);
    CHECK(expected_normal_maximum(n) == Approx(expected_maximum_by_tails(n)).epsilon(1e-9));
  }
  CHECK(expected_normal_maximum(10) == Approx(1.538752730835).epsilon(1e-10));  // Harter 1961
}

TEST_CASE("The expected maximum grows with n and stays below sqrt of 2 ln n") {
  double last = 0;
  for (int n = 2; n <= 1 << 20; n *= 2) {
    const double next = expected_normal_maximum(n);
    CHECK(next > last);
    CHECK(next < std::sqrt(2 * std::log(n)));
    last = next;
  }
}

}  // namespace
}  // namespace lockstep
