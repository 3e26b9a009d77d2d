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
  return {staleness, false, 1, 0};
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

TEST_CASE("Gradients are taken at exactly the parameters of s iterations ago") {
  for (const StalenessOptions& options : {stale(1), stale(7), StalenessOptions{4, true, 5, 20}}) {
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
  CHECK(staleness_at({20, false, 1, 1000}, 500) == 10);
  CHECK(staleness_at({20, false, 1, 1000}, 1000) == 20);
  double sum = 0;
  int least = 100;
  int most = 0;
  for (int t = 100; t < 10100; ++t) {
    const int s = staleness_at({20, true, 9, 0}, t);
    sum += s;
    least = std::min(least, s);
    most = std::max(most, s);
  }
  CHECK(least == 0);
  CHECK(most == 40);
  CHECK(sum / 10000 == Approx(20).margin(4 * 11.8 / 100));  // standard deviation of {0..40}: 11.8
}

// The stationary variance of dx = -a x(t - tau) dt + dB is (1 + sin a tau) / (2 a cos a tau) (Kuechler & Mensch 1992);
// a = 0.02 per iteration: 1 : 1.51 : 3.41 for tau = 0, 20, 50, and it has no bound as a tau nears pi / 2.
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
