// train --noise-scale: a run on emulated devices measures its critical batch, and trains the same bits.
#include "engine/train/noise_record.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

Request noise_request(const TemporaryFolder& folder) {
  Request r = small_request(folder, "s-sgd");
  r.gpus = 4;
  r.batch = 4;
  r.of_algorithm["--noise-scale"] = "";
  return r;
}

}  // namespace

TEST_CASE("The noise scale of a run is in its record, twice the same, and leaves training as it is") {
  const TemporaryFolder folder;
  const Request r = noise_request(folder);
  const Json record = run(r);
  CHECK(numbers(run(r)) == numbers(record));
  REQUIRE(record.at("epochs").size() == 2);
  std::int64_t steps = 0;
  for (const Json& epoch : record.at("epochs")) {
    const Json& noise = epoch.at("noise_scale");
    steps += noise.at("steps").get<std::int64_t>();
    CHECK(noise.at("covariance_trace").get<double>() > 0);
    CHECK(noise.at("low").get<double>() >= 0);
  }
  CHECK(steps == record.at("epochs").back().at("iterations").get<std::int64_t>());
  const Json& noise = record.at("noise_scale");
  CHECK(noise.at("steps") == steps);
  CHECK(noise.at("critical_batch").get<double>() > 0);
  Request without = r;
  without.of_algorithm.clear();
  const Json plain = run(without);
  CHECK(digest(plain) == digest(record));
  CHECK_FALSE(plain.contains("noise_scale"));
  CHECK_FALSE(plain.at("epochs").front().contains("noise_scale"));
  CHECK(noise_text(plain).empty());
}

TEST_CASE("Each of several evaluations has the noise scale since the last one, and an epoch that of its evaluations") {
  const TemporaryFolder folder;
  Request r = noise_request(folder);
  const Json one = run(r);
  r.evaluations_per_epoch = 4;
  const Json several = run(r);
  CHECK(digest(several) == digest(one));
  REQUIRE(several.at("evaluations").size() == 8);
  std::int64_t steps = 0;
  for (const Json& entry : several.at("evaluations")) steps += entry.at("noise_scale").at("steps").get<std::int64_t>();
  CHECK(steps == one.at("noise_scale").at("steps").get<std::int64_t>());
  for (std::size_t i = 0; i < 2; ++i) {
    const Json &a = one.at("epochs")[i].at("noise_scale"), &b = several.at("epochs")[i].at("noise_scale");
    CHECK(b.at("steps") == a.at("steps"));
  }
}

TEST_CASE("More threads measure the same noise scale") {
  const TemporaryFolder folder;
  Request r = noise_request(folder);
  r.epochs = 1;
  const Json one = run(r);
  r.threads = 2;
  CHECK(run(r).at("noise_scale") == one.at("noise_scale"));
}

TEST_CASE("A resumed run measures the noise scale of the run that was not interrupted") {
  const TemporaryFolder folder;
  Request r = noise_request(folder);
  const Json whole = run(r);
  r.checkpoint = folder.path("run.ckpt");
  r.epochs = 1;
  run(r);
  r.epochs = 2;
  r.resume = true;
  CHECK(run(r).at("noise_scale") == whole.at("noise_scale"));
}

TEST_CASE("The noise scale's lines say what it means") {
  sync::GradientNoise noise;
  noise.steps = 640;
  noise.blocks = 20;
  noise.gradient_square = 2;
  noise.covariance_trace = 1712;
  noise.gradient_square_variance = 0.01;
  noise.covariance_trace_variance = 100;
  Json record = {{"epochs", Json::array({{{"noise_scale", noise_json(noise)}}})}};
  add_noise_scale(record, record.at("epochs"), 64);
  CHECK(noise_text(record) ==
        "gradient noise scale: 860 images (80 % interval 800 to 920, 640 iterations)\n"
        "It estimates the critical batch, at which training takes twice the fewest iterations. On MNIST sweeps found "
        "one up "
        "to five times as large.\n");
  noise.gradient_square_variance = 9;
  record["epochs"].push_back({{"noise_scale", noise_json(noise)}});
  record["epochs"][0]["noise_scale"] = noise_json(noise);
  add_noise_scale(record, record.at("epochs"), 64);
  CHECK(noise_text(record).find("Its upper bound is not determined. Train longer") != std::string::npos);
}

TEST_CASE("The next command takes the noise scale of a run that reached its target") {
  Json record = {{"noise_scale", noise_json({})}, {"epochs_to_target", 2}};
  CHECK(noise_command_text(record, "run.json") ==
        "next: simulate convergence run.json (with --noise-scale, runs of three seeds predict other batches)\n");
  CHECK(noise_command_text(record, "").empty());
  record["epochs_to_target"] = nullptr;
  CHECK(noise_command_text(record, "run.json").empty());
}

TEST_CASE("The noise scale of a single worker is refused with what to do") {
  const TemporaryFolder folder;
  const tests::Outcome one = tests::run_program(folder.path(""), "train", "--data synthetic --noise-scale");
  CHECK(one.code == 2);
  CHECK(one.err.find("--noise-scale: compares the gradients of workers with their mean, and there is one worker; "
                     "allowed: --gpus 2 or more") != std::string::npos);
  const tests::Outcome sma =
      tests::run_program(folder.path(""), "train", "--data synthetic --algorithm sma --learners 2 --noise-scale");
  CHECK(sma.code == 2);
  CHECK(sma.err.find("--noise-scale: has no meaning with --algorithm sma: the weights of its learners differ") !=
        std::string::npos);
}

}  // namespace lockstep::train
