// The scenario's object "learners".
#include <algorithm>

#include "calib/profile.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

Json sma_scenario(const Json& learners) {
  Json scenario = small_scenario();
  scenario["algorithm"] = "sma";
  scenario["learners"] = learners;
  return scenario;
}

}  // namespace

TEST_CASE("learners: defaults") {
  const sim::LoadedScenario loaded = SmallFiles(sma_scenario({{"fill", 0.5}})).load();
  const sim::LearnersSpec& l = loaded.variants[0].learners;
  CHECK(loaded.variants[0].trains_learners());
  CHECK(l.per_gpu == 1);
  CHECK(l.tau == 1);
  CHECK(!l.round_robin);
  CHECK(l.overlap);
  CHECK(!l.auto_tune);
  CHECK(l.preprocessed_per_s() == 0);
  CHECK(l.workspace_bytes == 64e6);
  CHECK(loaded.resolved["learners"]["tau"] == 1);
  // A scenario without learners does not get them.
  CHECK(!SmallFiles().load().resolved.contains("learners"));
}

TEST_CASE("learners: every key") {
  const sim::LearnersSpec l = SmallFiles(sma_scenario(Json::parse(R"({
      "per_gpu": 3, "tau": "never", "scheduling": "round-robin", "overlap": false, "workspace": "10 MB",
      "occupancy": {"multiprocessors": 24, "streaming_threads": 1024, "matrix_threads": 256, "outputs_per_thread": 16},
      "pre_processing": {"workers": 20, "rate": "100 images/s"},
      "synchronised_by": "host", "host_wait": "20 us",
      "auto_tune": {"threshold": 0.02, "window": 7}})")))
                                  .one()
                                  .learners;
  CHECK(l.per_gpu == 3);
  CHECK(l.tau == 0);
  CHECK(l.round_robin);
  CHECK(!l.overlap);
  CHECK(l.by_host);
  CHECK(l.host_wait_s == 20e-6);
  CHECK(l.workspace_bytes == 10e6);
  CHECK(l.occupancy.multiprocessors == 24);
  CHECK(l.occupancy.streaming_threads == 1024);
  CHECK(l.occupancy.matrix_threads == 256);
  CHECK(l.occupancy.outputs_per_thread == 16);
  CHECK(l.preprocessed_per_s() == 2000);
  REQUIRE(l.auto_tune);
  CHECK(l.auto_tune->threshold == 0.02);
  CHECK(l.auto_tune->window == 7);
}

TEST_CASE("learners: a curve of fills is linear in the logarithm of the batch") {
  const sim::LearnersSpec l =
      SmallFiles(sma_scenario(Json::parse(R"({"fill": [{"batch": 4, "fill": 0.2}, {"batch": 16, "fill": 0.6}]})")))
          .one()
          .learners;
  CHECK(l.fill_at(1) == 0.2);
  CHECK(l.fill_at(4) == 0.2);
  CHECK(l.fill_at(8) == Approx(0.4));
  CHECK(l.fill_at(16) == 0.6);
  CHECK(l.fill_at(1000) == 0.6);
}

namespace {

// LeNet by one learner takes 100 us a sample; by `learners` of fill f = 0.3 at batch 8 and 0.6 at 32 together as long
// as the fluid model says.
calib::Profile profile_with(const std::vector<int>& learners) {
  calib::Profile profile;
  profile.name = "made up";
  profile.device = {"G", "host", 2, Json::object()};
  for (int m : learners)
    for (int batch : {8, 32}) {
      const double filled = batch == 8 ? 0.3 : 0.6;
      profile.samples.push_back(
          {"iteration",
           {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", m}, {"devices", 2}, {"batch", batch}},
           {1e-4 * batch * std::max(1.0, m * filled)},
           "measured",
           "test",
           {}});
    }
  profile.fits = calib::fit_curves(profile.samples);
  return profile;
}

}  // namespace

TEST_CASE("learners: what they fill of a device, from a profile that measured several") {
  SmallFiles files(sma_scenario({{"fill", "profile"}}));
  files.scenario["compute"]["profile"] = calib::to_json(profile_with({1, 2, 8}));
  const sim::LoadedScenario loaded = files.load();
  const sim::LearnersSpec& l = loaded.variants[0].learners;
  // At batch 8 two learners take no longer than one, so fill at most a half; eight take 2.4 times as long: 0.3.
  REQUIRE(l.fill.size() == 2);
  CHECK(l.fill_at(8) == Approx(0.3));
  CHECK(l.fill_at(16) == Approx(0.45));
  CHECK(l.fill_at(32) == Approx(0.6));
  const auto noted = std::find_if(loaded.assumptions.begin(), loaded.assumptions.end(),
                                  [](const Assumption& a) { return a.pointer == "/learners/fill/8"; });
  REQUIRE(noted != loaded.assumptions.end());
  CHECK(noted->kind == "measured");

  files.scenario["compute"]["profile"] = calib::to_json(profile_with({1}));
  CHECK_THROWS_WITH(files.load(), Contains("/learners/fill: the profile has no iterations of several learners"));
  files.scenario["compute"].erase("profile");
  CHECK_THROWS_WITH(files.load(), Contains("/learners/fill: no profile in /compute/profile"));
}

}  // namespace lockstep::tests
