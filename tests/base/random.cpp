#include "engine/base/random.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "engine/base/statistics.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kCount = 100000;

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / (static_cast<double>(a.size() - 1) * standard_deviation(a) * standard_deviation(b));
}

/// Returns the first `count` normal draws of a stream.
std::vector<double> draws(std::uint64_t seed, std::uint64_t stream, std::uint64_t count) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(random_normal(seed, stream, i));
  return values;
}

TEST_CASE("Random bits are pinned for all platforms") {
  CHECK(random_bits(0, 0, 0) == 0x238275BC38FCBE91ULL);
  CHECK(random_bits(1, 2, 3) == 0x8568F7C4E53B5A35ULL);
  CHECK(random_bits(~0ULL, ~0ULL, ~0ULL) == 0x179F01F0D2FBA97AULL);
}

TEST_CASE("A draw does not depend on the order of asking") {
  std::vector<std::uint64_t> forward;
  for (std::uint64_t i = 0; i < 100; ++i) forward.push_back(random_bits(7, 1, i));
  for (std::uint64_t i = 100; i-- > 0;) CHECK(random_bits(7, 1, i) == forward[i]);
}

TEST_CASE("Seed and stream and index are told apart") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 20; ++a) {
    for (std::uint64_t b = 0; b < 20; ++b) {
      for (std::uint64_t c = 0; c < 20; ++c) seen.insert(random_bits(a, b, c));
    }
  }
  CHECK(seen.size() == 8000);
}

TEST_CASE("Uniform draws lie inside the open interval with mean a half and variance a twelfth") {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < kCount; ++i) values.push_back(random_uniform(3, 0, i));
  CHECK(quantile(values, 0) > 0);
  CHECK(quantile(values, 1) < 1);
  const double sigma = std::sqrt(1.0 / 12);
  CHECK(mean(values) == Approx(0.5).margin(4 * sigma / std::sqrt(kCount)));
  CHECK(standard_deviation(values) == Approx(sigma).epsilon(0.01));
}

TEST_CASE("The smallest and the largest bits are inside the open interval") {
  const std::uint64_t no_bits = 0x6166527EAC48028C;  // found by inverting the mixing function
  const std::uint64_t all_bits = 0xD6BA9BA5CB3DA94C;
  REQUIRE(random_bits(0, 0, no_bits) == 0);
  REQUIRE(random_bits(0, 0, all_bits) == ~0ULL);
  CHECK(random_uniform(0, 0, no_bits) == 0x1p-53);
  CHECK(random_uniform(0, 0, all_bits) == 1 - 0x1p-53);
  CHECK(std::isfinite(random_normal(0, 0, no_bits)));
  CHECK(random_normal(0, 0, all_bits) == -random_normal(0, 0, no_bits));
}

TEST_CASE("Uniform draws fill ten bins evenly") {
  std::vector<double> bins(10, 0.0);
  for (std::uint64_t i = 0; i < kCount; ++i) bins[static_cast<std::size_t>(10 * random_uniform(11, 4, i))] += 1;
  double chi_squared = 0;
  for (const double bin : bins) chi_squared += (bin - kCount / 10.0) * (bin - kCount / 10.0) / (kCount / 10.0);
  CHECK(chi_squared < 33.7);  // 9 degrees of freedom: exceeded by 1 of 10,000 good generators
}

TEST_CASE("Normal draws have mean zero and deviation one and normal quantiles") {
  const std::vector<double> values = draws(5, 9, kCount);
  CHECK(mean(values) == Approx(0).margin(4 / std::sqrt(kCount)));
  CHECK(standard_deviation(values) == Approx(1).epsilon(4 / std::sqrt(2.0 * kCount)));
  for (const double q : {0.01, 0.25, 0.5, 0.75, 0.99}) {
    CHECK(quantile(values, q) == Approx(normal_quantile(q)).margin(0.05));
  }
}

TEST_CASE("Neighbouring draws and streams and seeds are uncorrelated") {
  const std::vector<double> first = draws(5, 9, 10000);
  std::vector<double> shifted(first.begin() + 1, first.end());
  shifted.push_back(first.front());
  const double bound = 4 / std::sqrt(10000.0);
  CHECK(std::fabs(correlation(first, shifted)) < bound);
  CHECK(std::fabs(correlation(first, draws(5, 10, 10000))) < bound);
  CHECK(std::fabs(correlation(first, draws(6, 9, 10000))) < bound);
}

}  // namespace
}  // namespace lockstep
