// MLPerf's reference runs, and predictions from them.
#include "sim/convergence/reference_points.hpp"

#include <cmath>

#include "engine/base/statistics.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

const std::vector<ReferenceNetwork>& networks() {
  static const std::vector<ReferenceNetwork> all =
      load_reference_points(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue/reference_points.json");
  return all;
}

ReferenceNetwork planted(const std::vector<double>& batches) {
  ReferenceNetwork network;
  network.network = "planted";
  network.target = {"0.9", 0.9, 0};
  for (const double batch : batches) {
    ReferencePoint point{{"1.0.0"}, batch, 0, {}, "", "tests"};
    for (const double factor : {0.98, 1.0, 1.02}) point.samples.push_back(factor * 1e6 * (1 + batch / 4096));
    network.points.push_back(point);
  }
  return network;
}

}  // namespace

TEST_CASE("reference points: a law between the points, held below them and followed beyond") {
  const ConvergenceProfile profile = reference_profile(planted({256, 1024, 8192}));
  CHECK(samples_to_target(profile, 2048).middle == Approx(1e6 * 1.5).epsilon(0.02));
  CHECK(samples_to_target(profile, 64).middle == Approx(samples_to_target(profile, 256).middle));
  CHECK(samples_to_target(profile, 16384).middle == Approx(5e6).epsilon(0.05));
  const ReferenceSamples at = samples_to_target(profile, 2048);
  CHECK(at.low < at.middle);
  CHECK(at.high > at.middle);
}

TEST_CASE("reference points: a run that did not converge is left out") {
  ReferenceNetwork network = planted({256, 1024, 8192});
  network.points[1].samples.push_back(1e8);
  CHECK(samples_to_target(reference_profile(network), 2048).middle == Approx(1.5e6).epsilon(0.02));
}

TEST_CASE("reference points: every network has a law, and more samples at larger batches beyond the critical one") {
  CHECK(networks().size() == 13);
  for (const ReferenceNetwork& network : networks()) {
    INFO(network.network);
    const ConvergenceProfile profile = reference_profile(network);
    REQUIRE(profile.fits.size() == 1);
    const double largest = profile.fits.front().to_x;
    CHECK(samples_to_target(profile, 4 * largest).middle > samples_to_target(profile, largest).middle);
  }
}

TEST_CASE("reference points: batches and rounds that were left out") {
  std::vector<double> errors;
  int runs = 0, inside = 0;
  for (const ReferenceNetwork& network : networks()) {
    const ReferenceCheck batches = check_batches(reference_profile(network));
    errors.insert(errors.end(), batches.errors.begin(), batches.errors.end());
    runs += batches.runs;
    inside += batches.inside;
  }
  CHECK(errors.size() > 70);
  CHECK(median(errors) < 0.10);
  CHECK(inside > 0.75 * runs);
}

TEST_CASE("reference points: newer rounds are predicted by older ones, and points with new settings are scored alone") {
  ReferenceNetwork network = planted({256, 1024, 8192});
  ReferencePoint newer{{"2.0.0"}, 2048, 0, {1.5e6, 1.5e6, 1.5e6}, "", "tests"};
  network.points.push_back(newer);
  newer.batch = 512;
  newer.samples = {0.5e6, 0.5e6, 0.5e6};
  newer.new_settings = "cosine annealing, not steps";
  network.points.push_back(newer);
  const NewerRounds checks = check_newer_rounds(network);
  REQUIRE(checks.same_settings.errors.size() == 1);
  CHECK(checks.same_settings.errors.front() < 0.03);
  REQUIRE(checks.new_settings.errors.size() == 1);
  CHECK(checks.new_settings.errors.front() > 1);
}

TEST_CASE("reference points: errors by older rounds") {
  std::vector<double> errors;
  int changed = 0;
  for (const ReferenceNetwork& network : networks()) {
    const NewerRounds checks = check_newer_rounds(network);
    errors.insert(errors.end(), checks.same_settings.errors.begin(), checks.same_settings.errors.end());
    changed += static_cast<int>(checks.new_settings.errors.size());
  }
  CHECK(errors.size() == 29);
  CHECK(median(errors) < 0.06);
  CHECK(changed == 2);
}

TEST_CASE("the law of steps is one function: samples over the fewest") {
  CHECK(samples_over_fewest(0, 1024) == 1);
  CHECK(samples_over_fewest(1024, 1024) == 2);
  // The saturating law of iterations, S_min (1 + x_c / x), takes x times as many samples.
  Law law;
  law.parameters << std::log(500.0), std::log(500.0 * 1024);
  const double fewest = 500.0 * 1024;  // samples far below the critical batch
  for (const double x : {1.0, 256.0, 1024.0, 65536.0})
    CHECK(x * std::exp(law.log_iterations(x)) == Approx(fewest * samples_over_fewest(x, 1024)));
}

TEST_CASE("reference points: a network that is not there is refused with those that are") {
  CHECK_THROWS_WITH(find_network(networks(), "alexnet"), Contains("llama31_405b"));
  CHECK(find_network(networks(), "bert").model == "bert_large");
}

}  // namespace lockstep::sim
