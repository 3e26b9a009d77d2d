// Laws of the loss: values by hand, limits, inverses, the optimum.
#include "sim/loss/loss_law.hpp"

#include <cmath>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/loss/laws.hpp"

namespace lockstep::sim {
namespace {

/// Draws random sizes, tokens and batches inside and outside the law's range.
struct Place {
  double parameters, tokens, batch;
};

Place random_place(std::uint64_t draw) {
  const auto between = [&](std::uint64_t stream, double low, double high) {
    return low * std::pow(high / low, random_uniform(11, stream, draw));
  };
  const double tokens = between(2, 1e9, 1e13);
  return {between(1, 1e8, 1e12), tokens, between(3, 1e4, tokens / 100)};
}

}  // namespace

TEST_CASE("the loss by hand") {
  // 2 + 400 / 1e9^0.3 + 1000 / 1e10^0.3: 400 / 501.187 + 1000 / 1000
  const LossLaw law = tests::simple_law();
  CHECK(loss_of(law, 1e9, 1e10, 0) == Approx(2 + 400 / std::pow(1e9, 0.3) + 1).epsilon(1e-12));
  CHECK(least_loss(law, 1e9) == Approx(2 + 400 / std::pow(1e9, 0.3)).epsilon(1e-12));
  // At the critical batch of 2e6 tokens, 1e10 small-batch tokens become 2e10.
  CHECK(critical_batch(law, 1e10) == Approx(2e6));
  CHECK(tokens_at_batch(law, 1e10, 2e6) == Approx(2e10));
  CHECK(loss_of(law, 1e9, 2e10, 2e6) == Approx(loss_of(law, 1e9, 1e10, 0)).epsilon(1e-12));
}

TEST_CASE("Kaplan's form is the same law with its power outside") {
  // The form is L = ((Nc/N)^(aN/aD) + Dc/D)^aD, table 2 of Kaplan et al. 2020, at N = 1e9 and D = 1e10.
  LossLaw law;
  const double a_n = 0.076, a_d = 0.103, n_c = 6.4e13, d_c = 1.8e13;
  law.gamma = a_d;
  law.parameters << -INFINITY, (a_n / a_d) * std::log(n_c / kReferenceParameters), std::log(d_c / kReferenceTokens),
      a_n / a_d, 1, std::log(5e6), 0.49;
  CHECK(loss_of(law, 1e9, 1e10, 0) ==
        Approx(std::pow(std::pow(n_c / 1e9, a_n / a_d) + d_c / 1e10, a_d)).epsilon(1e-12));
  CHECK(minimal_tokens_to(law, 1e9, loss_of(law, 1e9, 3e9, 0)) == Approx(3e9).epsilon(1e-9));
}

TEST_CASE("more parameters or tokens lower the loss, a larger batch does not") {
  const LossLaw law = tests::simple_law();
  for (std::uint64_t draw = 0; draw < 500; ++draw) {
    const Place at = random_place(draw);
    CAPTURE(at.parameters, at.tokens, at.batch);
    const double loss = loss_of(law, at.parameters, at.tokens, at.batch);
    CHECK(loss_of(law, 1.5 * at.parameters, at.tokens, at.batch) < loss);
    CHECK(loss_of(law, at.parameters, 1.5 * at.tokens, at.batch) < loss);
    CHECK(loss_of(law, at.parameters, at.tokens, 1.5 * at.batch) >= loss);
    CHECK(loss > least_loss(law, at.parameters));
  }
}

TEST_CASE("tokens to a loss and loss after tokens are inverse, also at a batch") {
  const LossLaw law = tests::simple_law();
  for (std::uint64_t draw = 0; draw < 500; ++draw) {
    const Place at = random_place(draw);
    CAPTURE(at.parameters, at.tokens, at.batch);
    CHECK(tokens_at_batch(law, minimal_tokens(law, at.tokens, at.batch), at.batch) == Approx(at.tokens).epsilon(1e-9));
    const double loss = loss_of(law, at.parameters, at.tokens, at.batch);
    CHECK(predict_tokens(law, at.parameters, loss, at.batch, 0.8).middle == Approx(at.tokens).epsilon(1e-6));
  }
  CHECK(std::isinf(minimal_tokens_to(law, 1e9, least_loss(law, 1e9))));
  CHECK(std::isinf(predict_tokens(law, 1e9, 2.0, 1e6, 0.8).middle));
}

TEST_CASE("intervals contain their middle and widen outside the range") {
  const LossLaw law = tests::simple_law();
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const Place at = random_place(draw);
    const BoundedValue loss = predict_loss(law, at.parameters, at.tokens, at.batch, 0.8);
    CHECK(loss.low < loss.middle);
    CHECK(loss.middle < loss.high);
    const BoundedValue tokens = predict_tokens(law, at.parameters, loss.middle, at.batch, 0.8);
    CHECK(tokens.low < tokens.middle);
    CHECK(tokens.middle < tokens.high);
  }
  const auto width = [&](double parameters, double tokens) {
    const BoundedValue loss = predict_loss(law, parameters, tokens, 0, 0.8);
    return loss.high / loss.low;
  };
  CHECK(width(1e12, 1e10) > width(1e10, 1e10));
  CHECK(width(1e9, 1e14) > width(1e9, 1e12));
  CHECK(beyond_range(law, 1e9, 1e10).empty());
  CHECK(beyond_range(law, 1e12, 1e15).size() == 2);
}

TEST_CASE("no other size has a lower loss for the same operations") {
  const LossLaw law = tests::simple_law();
  for (const double flops : {1e18, 1e21, 5.76e23, 1e26}) {
    const ComputeOptimum best = optimum_of(law, flops);
    const double size = best.parameters.middle;
    CHECK(6 * size * best.tokens == Approx(flops).epsilon(1e-9));
    for (const double factor : {0.5, 0.9, 1.1, 2.0})
      CHECK(loss_of(law, factor * size, best.tokens / factor, 0) > best.loss);
  }
}

TEST_CASE("the interval of the best size follows from the exponents' uncertainty") {
  LossLaw law = tests::simple_law();
  CHECK(optimum_of(law, 1e24).parameters.low == Approx(optimum_of(law, 1e24).parameters.high));
  law.covariance(kAlpha, kAlpha) = 1e-4;
  const auto reach = [&](double flops) {
    const BoundedValue size = optimum_of(law, flops).parameters;
    return size.high / size.low;
  };
  // An error of alpha turns the size term about the reference size of 1e9 parameters; far from it, sizes change.
  CHECK(reach(1e26) > reach(1e22));
}

TEST_CASE("a mixture of experts lies between its active and all parameters") {
  const BoundedValue n = effective_parameters(37e9, 671e9);
  CHECK(n.low == 37e9);
  CHECK(n.high == 671e9);
  CHECK(n.middle == Approx(std::sqrt(37e9 * 671e9)));
  CHECK(effective_parameters(8e9, 8e9).middle == Approx(8e9));
}

}  // namespace lockstep::sim
