#include "engine/sync/backup_workers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/statistics.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;
using Kind = DelayDistribution::Kind;

std::vector<double> draws(const DelayDistribution& delay, int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(draw_delay(delay, 11, i % 10, i / 10));
  return samples;
}

}  // namespace

TEST_CASE("Every step uses exactly N gradients and drops b") {
  HostVectorOps ops;
  Quadratic quadratic(2, 1, 1, 1);
  const GradientFunction gradient = quadratic.gradient();
  for (const bool interrupted : {false, true}) {
    BackupWorkers sgd(ops, plain_layout(2), Floats(2, 3), {6, 3, {Kind::kGamma, 1, 2, 0.5}, 4, interrupted});
    double time_s = 0;
    for (int t = 0; t < 50; ++t) {
      std::vector<int> asked;
      const BackupStep step = sgd.step(0.01, [&](int j, const float* w, std::int64_t iteration) {
        asked.push_back(j);
        return gradient(j, w, iteration);
      });
      CHECK(step.used.size() == 6);
      CHECK(step.dropped.size() == 3);
      CHECK(asked == step.used);
      std::set<int> everyone(step.used.begin(), step.used.end());
      everyone.insert(step.dropped.begin(), step.dropped.end());
      CHECK(everyone.size() == 9);
      CHECK(step.duration_s > 0);
      time_s += step.duration_s;
    }
    CHECK(sgd.time_s() == Approx(time_s));
  }
}

// The i-th of n exponential delays comes after 1/n + 1/(n-1) + ... + 1/(n-i+1) on average, with the sum of squares of
// these as its variance. For 8 of 10 these are 1.429 and 0.300; the mean of 4000 steps is within 4 standard errors,
// 0.035.
TEST_CASE("A step lasts as long as the N-th of N + b exponential delays") {
  HostVectorOps ops;
  Quadratic quadratic(1, 1, 1);
  BackupWorkers sgd(ops, plain_layout(1), {1}, {8, 2, {Kind::kGamma, 1, 1, 0}, 2, true});
  for (int t = 0; t < 4000; ++t) sgd.step(0.01, quadratic.gradient());
  CHECK(sgd.time_s() / 4000 == Approx(1.429).margin(0.035));
}

// Two workers, one gradient needed: the loser of step 0 reads the parameters of step 1 only when it is done.
TEST_CASE("A late worker finishes before it reads new parameters") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    HostVectorOps ops;
    Quadratic quadratic(1, 1, 1);
    const DelayDistribution delay{Kind::kPareto, 1, 1, 0};
    BackupWorkers sgd(ops, plain_layout(1), {1}, {1, 1, delay, seed, false});
    const BackupStep first = sgd.step(0.01, quadratic.gradient());
    const int winner = first.used[0];
    const int loser = first.dropped[0];
    const double end_s = draw_delay(delay, seed, winner, 0);
    CHECK(first.duration_s == end_s);
    const double winner_s = end_s + draw_delay(delay, seed, winner, 1);
    const double loser_s = draw_delay(delay, seed, loser, 0) + draw_delay(delay, seed, loser, 1);
    const BackupStep second = sgd.step(0.01, quadratic.gradient());
    CHECK(second.used[0] == (winner_s < loser_s ? winner : loser));
    CHECK(sgd.time_s() == Approx(std::min(winner_s, loser_s)));
  }
}

TEST_CASE("Without backups the parameters are those of S-SGD, to rounding") {
  HostVectorOps ops;
  Quadratic quadratic(4, 1, 1, 1);
  BackupWorkers sgd(ops, plain_layout(4), Floats(4, 3), {5, 0, {}, 1, false});
  SSgd s_sgd(ops, plain_layout(4), Floats(4, 3), 5);
  for (int t = 0; t < 30; ++t) {
    sgd.step(0.05, quadratic.gradient());
    s_sgd.step(0.05, quadratic.gradient());
  }
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sgd.parameters().to_host()[i] == Approx(s_sgd.parameters(0).to_host()[i]).epsilon(1e-4));
  }
}

// Gamma: mean = shape, variance = shape. Lognormal: median 1, and one in 6.3 above exp(shape). Pareto: P(X > 2) = 1/4.
TEST_CASE("Delays have the moments, medians and tails of their distributions") {
  const int count = 40000;
  for (const double shape : {0.5, 1.0, 3.0}) {
    const std::vector<double> gamma = draws({Kind::kGamma, 2, shape, 1}, count);
    CHECK(mean(gamma) == Approx(1 + 2 * shape).epsilon(0.03));
    CHECK(standard_deviation(gamma) == Approx(2 * std::sqrt(shape)).epsilon(0.04));
    CHECK(*std::min_element(gamma.begin(), gamma.end()) >= 1);
  }
  const std::vector<double> lognormal = draws({Kind::kLognormal, 1.5, 0.3, 0}, count);
  CHECK(median(lognormal) == Approx(1.5).epsilon(0.01));
  CHECK(quantile(lognormal, normal_cdf(1)) == Approx(1.5 * std::exp(0.3)).epsilon(0.02));
  const std::vector<double> pareto = draws({Kind::kPareto, 1, 2, 0}, count);
  const auto tail = std::count_if(pareto.begin(), pareto.end(), [](double x) { return x > 2; });
  CHECK(static_cast<double>(tail) / count == Approx(0.25).margin(0.01));
}

TEST_CASE("Backup workers refuse what makes no sense") {
  HostVectorOps ops;
  const Layout layout = plain_layout(1);
  CHECK_THROWS_WITH(BackupWorkers(ops, layout, {1}, {0, 1, {}, 1, false}), "backup workers: at least one worker");
  CHECK_THROWS_WITH(BackupWorkers(ops, layout, {1}, {1, 0, {Kind::kPareto, 0, 1, 0}, 1, false}),
                    "backup workers: scale and shape must be positive");
}

}  // namespace lockstep::sync
