// Tokens of a training whose batch changes: limits, a case by hand, the inverse.
#include "sim/loss/batch_ramp.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/loss/laws.hpp"

namespace lockstep::sim {

TEST_CASE("batch ramp: stages of one batch take as many tokens as that batch throughout") {
  const LossLaw law = tests::simple_law();
  const std::vector<BatchStageTokens> stages{{1e9, 4e6}, {3e10, 4e6}};
  for (const double minimal : {5e8, 1e10, 4e11}) {
    const double tokens = tokens_at_batch(law, minimal, 4e6);
    CHECK(tokens_of_ramp(law, stages, 4e6, minimal) == Approx(tokens).epsilon(1e-12));
    CHECK(minimal_tokens_of_ramp(law, stages, 4e6, tokens) == Approx(minimal).epsilon(1e-12));
    CHECK(equivalent_batch(law, minimal, tokens) == Approx(4e6).epsilon(1e-9));
  }
}

TEST_CASE("batch ramp: by hand, with a critical batch that does not grow") {
  LossLaw law = tests::simple_law();
  law.parameters[kCriticalExponent] = 0;  // 2e6 tokens always
  // Half the critical batch up to 3e9 tokens trains 2e9 of D_min; then twice the critical batch trains a third.
  const std::vector<BatchStageTokens> stages{{3e9, 1e6}};
  CHECK(tokens_of_ramp(law, stages, 4e6, 2e9) == Approx(3e9).epsilon(1e-12));
  CHECK(tokens_of_ramp(law, stages, 4e6, 5e9) == Approx(3e9 + 3 * 3e9).epsilon(1e-12));
  CHECK(minimal_tokens_of_ramp(law, stages, 4e6, 1.5e9) == Approx(1e9).epsilon(1e-12));
  CHECK(minimal_tokens_of_ramp(law, stages, 4e6, 12e9) == Approx(5e9).epsilon(1e-12));
}

TEST_CASE("batch ramp: tokens lie between those of its smallest and its largest batch, and invert") {
  const LossLaw law = tests::simple_law();
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const auto between = [&](std::uint64_t stream, double low, double high) {
      return low * std::pow(high / low, random_uniform(41, stream, trial));
    };
    const double minimal = between(0, 1e9, 1e13), last = between(1, 1e6, 1e8);
    std::vector<BatchStageTokens> stages;
    double until = 0, smallest = last, largest = last;
    for (std::uint64_t stage = 0; stage < 4; ++stage) {
      until += between(2 + stage, 1e8, 1e12);
      stages.push_back({until, between(10 + stage, 1e5, last)});
      smallest = std::min(smallest, stages.back().batch_tokens);
      largest = std::max(largest, stages.back().batch_tokens);
    }
    const double tokens = tokens_of_ramp(law, stages, last, minimal);
    CHECK(tokens >= tokens_at_batch(law, minimal, smallest) * (1 - 1e-12));
    CHECK(tokens <= tokens_at_batch(law, minimal, largest) * (1 + 1e-12));
    CHECK(minimal_tokens_of_ramp(law, stages, last, tokens) == Approx(minimal).epsilon(1e-9));
  }
}

}  // namespace lockstep::sim
