// The critical batch from the gradient noise scale. Expected values are worked by hand.
#include "sim/convergence/critical_batch.hpp"

#include <cmath>

#include "sim/convergence/build.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

NoiseStretch stretch(double iterations, double batch, double factor = 1.1) {
  return {iterations, batch, batch / factor, batch * factor};
}

ProfileRun noisy_run(double batch, const std::vector<NoiseStretch>& noise, double reached = 200) {
  ProfileRun run;
  run.cell = "cell";
  run.setting.batch = batch;
  run.targets = {{true, reached, 0}};
  run.noise = noise;
  run.source = "run.json";
  return run;
}

/// A record of `train --noise-scale` at `batch`, whose iterations to 97 % follow 100 (1 + 400 / batch).
Json noisy_record(int batch, int seed) {
  const int reached = static_cast<int>(std::lround(100 * (1 + 400.0 / batch) * (0.98 + 0.01 * seed)));
  Json json = Json::parse(R"({"schema": "lockstep/run/1", "status": "target reached", "target": 0.97,
    "model": {"name": "lenet"}, "data": {"name": "MNIST train", "train_images": 60000}})");
  json["options"] = {{"algorithm", "s-sgd"}, {"gpus", 2},    {"learners", 1},
                     {"batch", batch / 2},   {"seed", seed}, {"learning_rate", 0.01}};
  const Json noise = {{"critical_batch", 400.0}, {"low", 380.0}, {"high", 425.0}};
  json["epochs"] = {{{"iterations", reached}, {"test_accuracy", 0.97}, {"noise_scale", noise}}};
  return json;
}

ConvergenceProfile noisy_profile(const TemporaryFolder& folder, const std::vector<int>& batches) {
  for (const int batch : batches)
    for (int seed = 1; seed <= 3; ++seed)
      folder.write("out/ssgd-" + std::to_string(batch) + "/seed-" + std::to_string(seed) + ".json",
                   noisy_record(batch, seed).dump());
  return profile_of({folder.path("out")}, {"LeNet", {0.97}, {}});
}

}  // namespace

TEST_CASE("A constant noise scale is the critical batch, up to any iteration") {
  const ProfileRun run = noisy_run(64, {stretch(100, 300), stretch(200, 300)});
  for (const double iterations : {50.0, 100.0, 150.0, 200.0})
    CHECK(measured_critical_batch(run, iterations)->batch == Approx(300));
  CHECK_FALSE(measured_critical_batch(noisy_run(64, {}), 100));
}

// At batch 100 iterations at noise scales 100 and 300 make 1/2 and 1/4 of the progress: (50 x 100 + 25 x 300) / 75.
TEST_CASE("Iterations count by their progress, so that the law of the mean gives the iterations back") {
  const ProfileRun run = noisy_run(100, {stretch(100, 100), stretch(200, 300)});
  const double critical = measured_critical_batch(run, 200)->batch;
  CHECK(critical == Approx(12500.0 / 75));
  CHECK(75 * (1 + critical / 100) == Approx(200));
  CHECK(measured_critical_batch(run, 100)->batch == Approx(100));
}

TEST_CASE("A stretch without an upper bound leaves the critical batch undetermined, but not before it") {
  NoiseStretch open{200, 900.0, 100, std::nullopt};
  const ProfileRun run = noisy_run(64, {stretch(100, 300), open});
  CHECK_FALSE(measured_critical_batch(run, 200));
  CHECK(measured_critical_batch(run, 100)->batch == Approx(300));
}

TEST_CASE("Runs have their geometric mean, and their scatter is in the interval") {
  const ProfileRun a = noisy_run(64, {stretch(200, 200, 1.001)}), b = noisy_run(64, {stretch(200, 800, 1.001)});
  const CriticalBatch same = *measured_critical_batch({&a, &a}, 0), both = *measured_critical_batch({&a, &b}, 0);
  CHECK(same.batch == Approx(200));
  CHECK(both.batch == Approx(400));
  CHECK(both.runs == 2);
  CHECK(same.high / same.low < 1.01);
  CHECK(both.high / both.low > 4);
}

// Runs at 200 images take 300 iterations: S_min = 300 / (1 + 400 / 200) = 100, and 150 at 800 images.
TEST_CASE("Runs at one batch with a noise scale predict other batches, less surely the farther they are") {
  const TemporaryFolder folder;
  ConvergenceProfile profile = noisy_profile(folder, {200});
  fit_profile(profile);
  REQUIRE(profile.fits.size() == 1);
  CHECK(profile.fits[0].table.size() == 1);
  fit_profile(profile, nullptr, true);
  REQUIRE(profile.fits.size() == 1);
  const ConvergenceFit& fit = profile.fits[0];
  CHECK(fit.table.empty());
  TrainingSetting setting;
  const auto bound_at = [&](double batch) {
    setting.batch = batch;
    return estimate_iterations(profile, 0, setting).bound;
  };
  CHECK(bound_at(200).iterations == Approx(300).epsilon(0.01));
  CHECK(bound_at(800).iterations == Approx(150).epsilon(0.01));
  CHECK(bound_at(50).iterations == Approx(900).epsilon(0.01));
  const auto width_at = [&](double batch) { return std::log(bound_at(batch).high / bound_at(batch).low); };
  CHECK(width_at(200) < width_at(400));
  CHECK(width_at(400) < width_at(800));
  CHECK(fitted_critical_batch(fit)->batch == Approx(400));
  CHECK(fitted_critical_batch(fit)->high > 800);  // a factor of 2 for the law itself
}

TEST_CASE("The noise scale is kept in the profile and compared with the fitted critical batch") {
  const TemporaryFolder folder;
  ConvergenceProfile profile = noisy_profile(folder, {50, 100, 200, 400, 800});
  fit_profile(profile, nullptr, true);
  const std::string text = profile_text(profile, {});
  CHECK(text.find("Critical batch of s-sgd in images") != std::string::npos);
  CHECK(fitted_critical_batch(profile.fits.at(0))->batch == Approx(400).epsilon(0.05));
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "profile.json");
  const ConvergenceProfile again = convergence_profile_from_json(document.root());
  REQUIRE(again.runs.size() == 15);
  REQUIRE(again.runs[0].noise.size() == 1);
  CHECK(*again.runs[0].noise[0].critical_batch == 400);
  CHECK(to_json(again) == to_json(profile));
  CHECK(critical_batches_text(again) == critical_batches_text(profile));
}

TEST_CASE("A profile without noise scales has no table of critical batches") {
  CHECK(critical_batches_text({}).empty());
}

}  // namespace lockstep::sim
