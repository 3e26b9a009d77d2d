// Predicts a cell from its neighbours: by hand for one and two cells, in the limits, and for laws whose shape differs
// from that of the fit.
#include "sim/convergence/deviation.hpp"

#include <cmath>

#include "engine/base/random.hpp"
#include "sim/convergence/law.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {

TEST_CASE("one cell speaks for its neighbours as far as the shared part reaches") {
  // between 0.04, within 0.02, 2 runs: K = 0.04 + 0.01 = 0.05. At the cell itself 0.04 / 0.05 of its 0.2: 0.16. A
  // factor of e^2 away the covariance is 0.04 0.7 / e: 0.7 / e of that.
  const Deviations one{{{16, 0.2, 2}}, 0.04, 0.02};
  CHECK(expected_deviation(one, 16, false) == Approx(0.16));
  CHECK(expected_deviation(one, 16 * std::exp(2.0), false) == Approx(0.16 * 0.7 / std::exp(1.0)));
  CHECK(expected_deviation(one, 16 / std::exp(2.0), false) == Approx(0.16 * 0.7 / std::exp(1.0)));
  CHECK(std::abs(expected_deviation(one, 1e12, false)) < 1e-5);  // far away only the law counts
}

TEST_CASE("two cells, solved by hand") {
  // At 1 and e^2, without scatter within: K = b [[1, c], [c, 1]] with c = 0.7 / e. Deviations +1 and -1: K^-1 d = (1,
  // -1) / (b (1 - c)). Half-way, both covariances are equal, and the two deviations cancel.
  const double far = std::exp(2.0), c = 0.7 / std::exp(1.0);
  const Deviations two{{{1, 1, 3}, {far, -1, 3}}, 0.5, 0};
  CHECK(expected_deviation(two, std::exp(1.0), false) == Approx(0).margin(1e-12));
  CHECK(expected_deviation(two, 1, false) == Approx(1));
  CHECK(expected_deviation(two, far, false) == Approx(-1));
  // At e^-2, the covariances are 0.7 / e and 0.7 / e^2.
  CHECK(expected_deviation(two, 1 / far, false) == Approx((c - c / std::exp(1.0)) / (1 - c)));
}

TEST_CASE("nothing is known without cells or without variance between them, and staleness may be 0") {
  CHECK(expected_deviation({}, 5, false) == 0);
  CHECK(expected_deviation({{{1, 0.3, 3}}, 0, 0.1}, 1, false) == 0);
  const Deviations stale{{{0, 0.3, 3}, {20, -0.1, 3}}, 0.1, 0.01};
  CHECK(expected_deviation(stale, 0, true) > 0.2);
  CHECK(std::isfinite(expected_deviation(stale, 7, true)));
}

TEST_CASE("a law that bends otherwise is predicted better between its cells than by the fitted law alone") {
  // Iterations are 100 (1 + (500 / x)^1.5)^(1/1.5), with a floor that the saturating law cannot follow. Each cell has
  // three runs with a scatter of 5 %. The held-out cell is predicted from the others.
  const std::vector<double> batches{16, 64, 256, 1024, 4096, 16384};
  const auto truth = [](double x) { return std::log(100 * std::pow(1 + std::pow(500 / x, 1.5), 1 / 1.5)); };
  double with = 0, without = 0;
  for (std::uint64_t luck = 1; luck <= 30; ++luck) {
    for (const double out : {64.0, 256.0, 1024.0, 4096.0}) {
      std::vector<LawObservation> runs;
      std::uint64_t draw = 0;
      for (const double x : batches)
        for (int seed = 0; seed < 3; ++seed, ++draw)
          if (x != out) runs.push_back({x, std::exp(truth(x) + 0.05 * random_normal(luck, 3, draw)), false});
      const Law law = fit_law(LawKind::saturating, runs);
      with += std::abs(law.expected_log_iterations(out) - truth(out));
      without += std::abs(law.log_iterations(out) - truth(out));
    }
  }
  CHECK(with < 0.9 * without);
}

TEST_CASE("cells that are on the law leave it as it is") {
  Law law;
  law.parameters = {std::log(120.0), std::log(120.0 * 700)};
  std::vector<LawObservation> runs;
  for (const double x : {16.0, 64.0, 256.0, 1024.0})
    for (const double off : {-0.1, 0.0, 0.1}) runs.push_back({x, std::exp(law.log_iterations(x) + off), false});
  const Law fit = fit_law(LawKind::saturating, runs);
  CHECK(fit.expected_log_iterations(100) == Approx(fit.log_iterations(100)));
}

}  // namespace lockstep::sim
