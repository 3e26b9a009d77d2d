// Delay distributions: quantiles from tables, moments, and a fit that finds the parameters behind its percentiles.
#include "sim/cost/delay.hpp"

#include <cmath>

#include "engine/base/statistics.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

DelaySpec spec_of(DelaySpec::Kind kind, double scale, double shape) {
  DelaySpec spec;
  spec.kind = kind;
  spec.scale = scale;
  spec.shape = shape;
  return spec;
}

std::vector<double> draws(const Delay& delay, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(delay.draw(1, i % 10, i / 10));
  return values;
}

}  // namespace

TEST_CASE("quantiles of the gamma distribution") {
  // Shape 1: -ln(1 - p). Shape 2 by its closed form 1 - (1 + x) exp(-x). Chi-square with 10 degrees: 2 x Gamma(5).
  for (double p : {0.001, 0.5, 0.9, 0.999999}) CHECK(gamma_quantile(1, p) == Approx(-std::log1p(-p)).epsilon(1e-9));
  for (double p : {0.01, 0.5, 0.99}) {
    const double x = gamma_quantile(2, p);
    CHECK(1 - (1 + x) * std::exp(-x) == Approx(p).epsilon(1e-9));
  }
  CHECK(2 * gamma_quantile(5, 0.95) == Approx(18.307).epsilon(1e-4));
  CHECK(2 * gamma_quantile(0.5, 0.95) == Approx(3.841).epsilon(1e-3));
}

TEST_CASE("draws have their distribution's mean and median, and depend on worker and step alone") {
  const Delay lognormal(spec_of(DelaySpec::Kind::lognormal, 1.5, 0.3));
  CHECK(median(draws(lognormal, 20000)) == Approx(1.5).epsilon(0.01));
  CHECK(mean(draws(lognormal, 20000)) == Approx(1.5 * std::exp(0.045)).epsilon(0.01));
  const Delay gamma(spec_of(DelaySpec::Kind::gamma, 0.25, 4));
  CHECK(mean(draws(gamma, 20000)) == Approx(1).epsilon(0.01));
  CHECK(standard_deviation(draws(gamma, 20000)) == Approx(0.5).epsilon(0.02));
  CHECK(gamma.draw(1, 3, 7) == gamma.draw(1, 3, 7));
  CHECK(gamma.draw(1, 3, 7) != gamma.draw(1, 7, 3));
  CHECK(gamma.draw(1, 3, 7) != gamma.draw(2, 3, 7));
}

TEST_CASE("a shift moves all, an empirical distribution draws its samples alone") {
  DelaySpec shifted = spec_of(DelaySpec::Kind::lognormal, 1, 0.1);
  shifted.shift = 2;
  CHECK(Delay(shifted).quantile(0.5) == Approx(3));
  DelaySpec empirical;
  empirical.kind = DelaySpec::Kind::empirical;
  empirical.samples = {3, 1, 2, 4};
  const Delay delay(empirical);
  CHECK(delay.quantile(0.1) == 1);
  CHECK(delay.quantile(0.6) == 3);
  CHECK(delay.quantile(0.999) == 4);
  CHECK(mean(draws(delay, 20000)) == Approx(2.5).epsilon(0.02));
}

TEST_CASE("a Pareto tail is continuous and falls by its index") {
  DelaySpec spec = spec_of(DelaySpec::Kind::pareto_tail, 1, 0.1);
  spec.tail_probability = 0.05;
  spec.tail_index = 2;
  const Delay delay(spec);
  const double begin = delay.quantile(0.95);
  CHECK(delay.quantile(0.95 + 1e-9) == Approx(begin).epsilon(1e-6));
  CHECK(delay.quantile(0.5) == Approx(1));
  // A tenth of the tail, 0.5 %, is beyond sqrt(10) times its beginning.
  CHECK(delay.quantile(0.995) == Approx(std::sqrt(10) * begin).epsilon(1e-9));
}

TEST_CASE("expected order statistics of the exponential are harmonic sums") {
  const Delay delay(spec_of(DelaySpec::Kind::gamma, 2, 1));
  for (int k : {1, 3, 10}) {
    double expected = 0;
    for (int i = 10 - k + 1; i <= 10; ++i) expected += 2.0 / i;
    CHECK(delay.expected_order_statistic(k, 10) == Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("a fit returns the distribution that made its percentiles") {
  DelaySpec made = spec_of(DelaySpec::Kind::pareto_tail, 1.4, 0.12);
  made.tail_probability = 0.5 * std::pow(1e-6, 120 / 400.0);  // on the grid of the search
  made.tail_index = 1.7;
  const Delay truth(made);
  DelaySpec asked;
  asked.kind = DelaySpec::Kind::percentiles;
  for (double p : {0.1, 0.5, 0.9, 0.97, 0.995, 0.999, 0.9999}) asked.percentiles.push_back({p, truth.quantile(p)});
  const Delay fitted(asked);
  CHECK(fitted.fit_residual() < 1e-6);
  CHECK(fitted.spec().scale == Approx(1.4).epsilon(1e-4));
  CHECK(fitted.spec().shape == Approx(0.12).epsilon(1e-3));
  CHECK(fitted.spec().tail_index == Approx(1.7).epsilon(1e-3));
  CHECK(fitted.spec().tail_probability == Approx(made.tail_probability).epsilon(1e-3));
}

TEST_CASE("a fit of what is no tailed lognormal says how far off it is, and stays a distribution") {
  // This distribution is bimodal: nearly half is at 1 and half at 10.
  DelaySpec asked;
  asked.kind = DelaySpec::Kind::percentiles;
  asked.percentiles = {{0.1, 1}, {0.3, 1.01}, {0.49, 1.02}, {0.51, 10}, {0.9, 10.1}};
  const Delay fitted(asked);
  CHECK(fitted.fit_residual() > 0.1);
  double before = 0;
  for (double p = 0.01; p < 1; p += 0.01) {
    CHECK(fitted.quantile(p) >= before);
    before = fitted.quantile(p);
  }
}

TEST_CASE("two percentiles make a lognormal through both") {
  DelaySpec asked;
  asked.kind = DelaySpec::Kind::percentiles;
  asked.percentiles = {{0.5, 2}, {0.9, 3}};
  const Delay fitted(asked);
  CHECK(fitted.quantile(0.5) == Approx(2).epsilon(1e-6));
  CHECK(fitted.quantile(0.9) == Approx(3).epsilon(1e-6));
}
