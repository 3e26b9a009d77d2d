// Uses a loss as the target of a convergence profile.
#include "sim/loss/loss_profile.hpp"

#include <cmath>

#include "engine/base/json.hpp"
#include "tests/catch.hpp"
#include "tests/loss/laws.hpp"

namespace lockstep::sim {
namespace {

LossModel model_of(double low, double middle, double high) {
  return {"model", {middle, low, high}, 4096};
}

double tokens_by_profile(const ConvergenceProfile& profile, double sequences) {
  TrainingSetting setting;
  setting.batch = sequences;
  return estimate_iterations(profile, 0, setting).bound.iterations * sequences * 4096;
}

}  // namespace

TEST_CASE("a profile's iterations are the law's tokens at every batch") {
  const LossLaw law = tests::simple_law();
  const ConvergenceProfile profile = profile_to_loss(law, model_of(1e9, 1e9, 1e9), 3.5);
  for (const double sequences : {1.0, 64.0, 512.0, 4096.0})
    CHECK(tokens_by_profile(profile, sequences) ==
          Approx(predict_tokens(law, 1e9, 3.5, 4096 * sequences, 0.8).middle).epsilon(1e-9));
}

TEST_CASE("a profile's interval reaches as far as the law's") {
  LossLaw law = tests::simple_law();
  law.covariance(kLogB, kLogB) = 4e-4;
  law.covariance(kLogCritical, kLogCritical) = 0.09;
  const ConvergenceProfile profile = profile_to_loss(law, model_of(1e9, 1e9, 1e9), 3.5);
  TrainingSetting setting;
  setting.batch = 1;
  const IterationsBound bound = estimate_iterations(profile, 0, setting).bound;
  const BoundedValue tokens = predict_tokens(law, 1e9, 3.5, 4096, 0.8);
  const double reach = std::max(tokens.middle / tokens.low, tokens.high / tokens.middle);
  CHECK(bound.high / bound.iterations == Approx(reach).epsilon(0.02));
  // The critical batch has an effect only at large batches.
  setting.batch = 4096;
  const IterationsBound large = estimate_iterations(profile, 0, setting).bound;
  CHECK(large.high / large.iterations > 1.1 * bound.high / bound.iterations);
}

TEST_CASE("a mixture of experts has an interval from its active to all parameters") {
  const LossLaw law = tests::simple_law();
  TrainingSetting setting;
  const auto reach = [&](const LossModel& model) {
    const IterationsBound bound = estimate_iterations(profile_to_loss(law, model, 3.4), 0, setting).bound;
    return bound.high / bound.low;
  };
  CHECK(reach(model_of(1e9, 2e9, 4e9)) > 1.5 * reach(model_of(2e9, 2e9, 2e9)));
}

TEST_CASE("a loss that no data reaches is refused with the least") {
  CHECK_THROWS_WITH(profile_to_loss(tests::simple_law(), model_of(1e9, 1e9, 1e9), 2.1),
                    Contains("2.79") && Contains("larger model"));
}

TEST_CASE("a loss is a target only below that of an untrained model, ln(vocabulary)") {
  LossModel model = model_of(1e9, 1e9, 1e9);
  model.vocabulary = 32000;
  CHECK(untrained_loss(model) == Approx(10.3735));
  (void)profile_to_loss(tests::simple_law(), model, 10.37);
  CHECK_THROWS_WITH(profile_to_loss(tests::simple_law(), model, 10.38),
                    Contains("not below 10.37 nats") && Contains("32,000") && Contains("a lower loss"));
}

TEST_CASE("a profile to a loss is written and read back") {
  const ConvergenceProfile profile = profile_to_loss(tests::simple_law(), model_of(1e9, 1e9, 1e9), 3.5);
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "profile.json");
  const ConvergenceProfile back = convergence_profile_from_json(document.root());
  CHECK(back.targets.front().loss == 3.5);
  CHECK(tokens_by_profile(back, 100) == Approx(tokens_by_profile(profile, 100)).epsilon(1e-12));
}

}  // namespace lockstep::sim
