#include "engine/sync/stale_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

StalenessOptions stale(int staleness) {
  return {staleness, false, 1, 0, 1};
}

/// Mean square distance from the optimum in the steady state of a noisy quadratic, gamma * curvature = 0.02.
double steady_error(int staleness) {
  HostVectorOps ops;
  const std::int64_t n = 256;
  Quadratic quadratic(n, 1, 0, 1);
  StaleGradients sgd(ops, plain_layout(n), Floats(n, 0), stale(staleness), {0, 0, {}});
  double sum = 0;
  for (int t = 0; t < 3000; ++t) {
    sgd.step(0.02, quadratic.gradient());
    if (t >= 1000) sum += mean_square(sgd.parameters().to_host(), 0);
  }
  return sum / 2000;
}

}  // namespace

TEST_CASE("Staleness 0 is S-SGD, bit by bit") {
  HostVectorOps ops;
  Quadratic quadratic(5, 1, 1, 1);
  StaleGradients sgd(ops, plain_layout(5), Floats(5, 3), stale(0));
  SSgd s_sgd(ops, plain_layout(5), Floats(5, 3), 1);
  for (int t = 0; t < 40; ++t) {
    sgd.step(0.05, quadratic.gradient());
    s_sgd.step(0.05, quadratic.gradient());
    CHECK(sgd.parameters().to_host() == s_sgd.parameters(0).to_host());
  }
}

// As S-SGD's replicas are; with the same draws, and gradients at the same age.
TEST_CASE("Staleness 0 on k replicas is S-SGD on k, and replicas stay identical at any age") {
  const std::vector<std::vector<float>> table{{1, 3}, {-2, 2}, {5, -1}, {0, 0.5F}, {2, 2}, {1, -4}, {3, 1}};
  HostVectorOps ops;
  StalenessOptions options = stale(0);
  options.replicas = 2;
  StaleGradients fresh(ops, plain_layout(1), {3}, options, {0.9, 0.01, {}});
  SSgd s_sgd(ops, plain_layout(1), {3}, 2, {0.9, 0.01, {}});
  options = {2, true, 3, 4, 2};
  StaleGradients drawn(ops, plain_layout(1), {3}, options, {0.9, 0.01, {}});
  std::vector<Floats> history{{3}};
  for (int t = 0; t < 7; ++t) {
    fresh.step(0.1, from_table(table));
    s_sgd.step(0.1, from_table(table));
    CHECK(fresh.parameters(1).to_host() == s_sgd.parameters(1).to_host());
    const GradientFunction gradient = from_table(table);
    drawn.step(0.1, [&](int j, const float* w, std::int64_t step) {
      CHECK(w[0] == history.at(static_cast<std::size_t>(t - staleness_at(options, t))).front());
      return gradient(j, w, step);
    });
    CHECK(drawn.parameters(1).to_host() == drawn.parameters(0).to_host());
    history.push_back(drawn.parameters().to_host());
  }
}

// w = 1, then gradients of 2 w on replica 0 and 0 on replica 1, mean w, one step old from the second step on; gamma
// 0.5: w(1) = 1 - 0.5 * 1 = 0.5;  w(2) = 0.5 - 0.5 * w(0) = 0;  w(3) = 0 - 0.5 * w(1) = -0.25.
TEST_CASE("Three steps of two replicas one step stale by hand") {
  HostVectorOps ops;
  StalenessOptions options = stale(1);
  options.replicas = 2;
  StaleGradients sgd(ops, plain_layout(1), {1}, options, {0, 0, {}});
  std::vector<Floats> buffers{{0}, {0}};
  for (const float expected : {0.5F, 0.F, -0.25F}) {
    sgd.step(0.5, [&](int j, const float* w, std::int64_t) {
      Floats& g = buffers[static_cast<std::size_t>(j)];
      g[0] = j == 0 ? 2 * w[0] : 0;
      return static_cast<const float*>(g.data());
    });
    CHECK(sgd.parameters(0).to_host() == Floats{expected});
    CHECK(sgd.parameters(1).to_host() == Floats{expected});
  }
}

TEST_CASE("Gradients are taken at exactly the parameters of s iterations ago") {
  for (const StalenessOptions& options : {stale(1), stale(7), StalenessOptions{4, true, 5, 20, 1}}) {
    HostVectorOps ops;
    Quadratic quadratic(3, 1, 1, 1);
    const GradientFunction gradient = quadratic.gradient();
    StaleGradients sgd(ops, plain_layout(3), Floats(3, 3), options);
    std::vector<Floats> history{sgd.parameters().to_host()};
    for (int t = 0; t < 60; ++t) {
      sgd.step(0.01, [&](int j, const float* w, std::int64_t step) {
        CHECK(Floats(w, w + 3) == history.at(static_cast<std::size_t>(t - staleness_at(options, t))));
        return gradient(j, w, step);
      });
      history.push_back(sgd.parameters().to_host());
    }
  }
}

TEST_CASE("Staleness: no more than the past, ramped, and drawn with its mean") {
  CHECK(staleness_at(stale(20), 5) == 5);
  CHECK(staleness_at(stale(20), 500) == 20);
  CHECK(staleness_at({20, false, 1, 1000, 1}, 500) == 10);
  CHECK(staleness_at({20, false, 1, 1000, 1}, 1000) == 20);
  double sum = 0;
  int least = 100;
  int most = 0;
  for (int t = 100; t < 10100; ++t) {
    const int s = staleness_at({20, true, 9, 0, 1}, t);
    sum += s;
    least = std::min(least, s);
    most = std::max(most, s);
  }
  CHECK(least == 0);
  CHECK(most == 40);
  CHECK(sum / 10000 == Approx(20).margin(4 * 11.8 / 100));  // standard deviation of {0..40}: 11.8
}

// The stationary variance of dx = -a x(t - tau) dt + dB is (1 + sin a tau) / (2 a cos a tau) (Kuechler & Mensch 1992).
// With a = 0.02 per iteration the ratios are 1 : 1.51 : 3.41 for tau = 0, 20, 50; the variance diverges as a tau
// approaches pi / 2.
TEST_CASE("Staleness raises the steady error of a noisy quadratic in order 0 < 20 < 50, as the theory of delays says") {
  const double fresh = steady_error(0);
  const auto ratio = [](double a_tau) { return (1 + std::sin(a_tau)) / std::cos(a_tau); };
  const double by_20 = steady_error(20) / fresh;
  const double by_50 = steady_error(50) / fresh;
  CHECK(1 < by_20);
  CHECK(by_20 < by_50);
  CHECK(by_20 == Approx(ratio(0.4)).epsilon(0.15));
  CHECK(by_50 == Approx(ratio(1.0)).epsilon(0.15));
}

}  // namespace lockstep::sync
