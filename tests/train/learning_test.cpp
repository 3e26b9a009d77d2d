// Training learns with every algorithm, and settings that must not matter do not.
#include <cmath>

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

Request learning_request(const TemporaryFolder& folder, const std::string& algorithm) {
  Request r = small_request(folder, algorithm);
  r.epochs = 16;
  r.target = 0.95;
  if (algorithm == "sma") r.learners = 2;
  if (algorithm == "local-sgd") {
    r.gpus = 2;
    r.of_algorithm["--tau"] = "4";
  }
  if (algorithm == "stale") {
    r.of_algorithm["--staleness"] = "4";
    r.momentum = 0;  // momentum makes a gradient's age count ten times
    r.learning_rate = 0.02;
  }
  return r;
}

TEST_CASE("Every algorithm learns the synthetic images") {
  const std::string algorithm = GENERATE("ssgd", "sma", "easgd", "backup", "stale", "local-sgd", "sharded");
  INFO(algorithm);
  const TemporaryFolder folder;
  const Json record = run(learning_request(folder, algorithm));
  CHECK(record.at("status") == "target reached");
  CHECK(record.at("best_test_accuracy").get<double>() >= 0.95);
  const Json& epochs = record.at("epochs");
  CHECK(epochs.back().at("train_loss").get<double>() < std::log(4.0));  // the loss of guessing
}

TEST_CASE("Every rule of updates learns at its usual rate, and is in the record") {
  const std::string optimizer = GENERATE("momentum", "nesterov", "adam", "adamw");
  INFO(optimizer);
  const TemporaryFolder folder;
  Request r = learning_request(folder, "ssgd");
  r.optimizer = optimizer;
  const Json record = run(r);
  CHECK(record.at("best_test_accuracy").get<double>() >= 0.95);
  const Json& options = record.at("options");
  const bool is_adam = optimizer.rfind("adam", 0) == 0;
  CHECK(options.value("optimizer", "momentum") == optimizer);
  CHECK(options.contains("momentum") == !is_adam);
  CHECK(options.value("beta2", 0.0) == (is_adam ? 0.999 : 0.0));
  CHECK(options.at("learning_rate") == (is_adam ? 0.001 : 0.005));
}

TEST_CASE("A single SMA learner learns with the defaults") {
  const TemporaryFolder folder;
  Request r = learning_request(folder, "sma");
  r.learners = 1;
  CHECK(run(r).at("best_test_accuracy").get<double>() >= 0.95);
}

TEST_CASE("Emulated half precision learns") {
  const std::string precision = GENERATE("fp16", "bf16");
  INFO(precision);
  const TemporaryFolder folder;
  Request r = learning_request(folder, "ssgd");
  r.precision = precision;
  const Json record = run(r);
  CHECK(record.at("best_test_accuracy").get<double>() >= 0.95);
  CHECK(record.at("epochs").back().contains("loss_scale") == (precision == "fp16"));
}

// Without dropout and batch norm, which see the batch: the mean gradient of two batches of 8 is that of one of 16.
TEST_CASE("S-SGD, fresh or stale, on 2 GPUs with batch 8 is 1 GPU with batch 16") {
  const std::string algorithm = GENERATE("ssgd", "stale");
  const TemporaryFolder folder;
  Request two = small_request(folder, algorithm, "");
  if (algorithm == "stale") two.of_algorithm["--staleness"] = "3";
  two.gpus = 2;
  Request one = two;
  one.gpus = 1;
  one.batch = 16;
  const auto trained = [](const Request& request) {
    Trainer trainer(resolve(request), {"train"});
    Observer nobody;
    trainer.run(nobody);
    return trainer.parameters();
  };
  const std::vector<float> a = trained(two), b = trained(one);
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  CHECK(difference > 0);  // another order of summation
  CHECK(std::sqrt(difference / size) < 1e-5);
}

// One iteration an epoch: the parameters after each are those of a shorter run.
TEST_CASE("The moving average is the decaying mean of the parameters after every iteration") {
  const std::string algorithm = GENERATE("ssgd", "stale", "backup");
  INFO(algorithm);
  const TemporaryFolder folder;
  Request r = small_request(folder, algorithm, "");
  r.learners = 1;
  r.train_images = r.batch.value();
  const auto trained = [&](int epochs) {
    r.epochs = epochs;
    Trainer trainer(resolve(r), {"train"});
    Observer nobody;
    trainer.run(nobody);
    return trainer.parameters();
  };
  constexpr double kDecay = 0.75;
  std::map<std::string, std::string> inputs;
  std::vector<float> expected = device::initial_parameters(model::graph_of(r.model, inputs), r.seed);
  for (int epochs = 1; epochs <= 3; ++epochs) {
    const std::vector<float> w = trained(epochs);
    for (std::size_t i = 0; i < w.size(); ++i)
      expected[i] = static_cast<float>(kDecay * double(expected[i]) + (1 - kDecay) * double(w[i]));
  }
  const std::vector<float> parameters = trained(3);
  r.moving_average = kDecay;
  const std::vector<float> average = trained(3);
  REQUIRE(average.size() == expected.size());
  double moved = 0;
  for (std::size_t i = 0; i < average.size(); ++i) {
    REQUIRE(average[i] == Approx(expected[i]).margin(1e-6));
    moved = std::max(moved, std::abs(double(average[i]) - double(parameters[i])));
  }
  CHECK(moved > 1e-5);  // they differ from the parameters themselves
}

TEST_CASE("The number of threads does not matter") {
  const std::string algorithm = GENERATE("ssgd", "sma", "backup");
  INFO(algorithm);
  const TemporaryFolder folder;
  Request r = small_request(folder, algorithm);
  r.epochs = 1;
  if (algorithm == "sma") r.learners = 3;
  const std::vector<std::string> one = numbers(run(r));
  for (const int threads : {2, 3, 5}) {
    r.threads = threads;
    CHECK(numbers(run(r)) == one);
  }
}

TEST_CASE("A run can be repeated, and another seed is another run") {
  const std::string algorithm = GENERATE("ssgd", "sma", "easgd", "backup", "stale", "local-sgd");
  INFO(algorithm);
  const TemporaryFolder folder;
  Request r = small_request(folder, algorithm);
  r.epochs = 1;
  r.augment = true;
  if (algorithm == "backup") r.of_algorithm["--delay"] = "pareto";
  if (algorithm == "stale") {
    r.of_algorithm["--staleness"] = "5";
    r.of_algorithm["--staleness-drawn"] = "";
    r.of_algorithm["--staleness-ramp-epochs"] = "0.5";
  }
  const std::vector<std::string> first = numbers(run(r));
  CHECK(numbers(run(r)) == first);
  r.seed = 2;
  CHECK(numbers(run(r)) != first);
}

// 3 of 4 workers count: an epoch of 512 images takes ceil(512 / 24) iterations.
TEST_CASE("With backup workers an epoch is as many images that counted") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "backup");
  r.learners = 3;
  r.of_algorithm["--backups"] = "1";
  r.epochs = 1;
  const Json record = run(r);
  const Json& epoch = record.at("epochs").at(0);
  CHECK(epoch.at("iterations") == 22);
  CHECK(epoch.at("images") == 528);
  CHECK(epoch.at("simulated_s").get<double>() > 0);
}

// 8 images an iteration of a set of 4: epochs 1 and 2 end with the first, 3 with the second.
TEST_CASE("An iteration of more images than there are ends several epochs, of which the later have no rate") {
  TemporaryFolder folder;
  Request request = small_request(folder, "ssgd");
  request.train_images = 4;
  request.epochs = 3;
  const Json epochs = run(request).at("epochs");
  REQUIRE(epochs.size() == 3);
  CHECK(epochs[0].at("samples_per_s").get<double>() > 0);
  CHECK(epochs[1].at("iterations") == 1);
  CHECK(epochs[1].at("samples_per_s").is_null());
  CHECK(epochs[2].at("iterations") == 2);
  CHECK(epochs[2].at("samples_per_s").get<double>() > 0);
  const tests::Outcome shown = tests::run_program(
      folder.path(""), "train",
      "--model small.json --data synthetic --train-images 4 --test-images 10 --batch 8 --epochs 2 --threads 1 --quiet");
  CHECK(shown.code == 0);
  CHECK(shown.out.find("nan") == std::string::npos);
}

TEST_CASE("Staleness makes the loss fall more slowly") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "stale", "");
  r.learning_rate = 0.002;
  const double fresh = run(r).at("epochs").at(1).at("train_loss").get<double>();
  r.of_algorithm["--staleness"] = "30";
  const double stale = run(r).at("epochs").at(1).at("train_loss").get<double>();
  CHECK(stale > fresh);
}

TEST_CASE("The learning rate of an epoch is the schedule's") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd");
  r.epochs = 3;
  r.learning_rate = 0.01;
  r.schedule = "steps";
  r.step_epochs = {1, 2};
  r.step_factor = 0.5;
  const Json record = run(r);
  CHECK(record.at("epochs").at(0).at("learning_rate").get<double>() == Approx(0.01));
  CHECK(record.at("epochs").at(1).at("learning_rate").get<double>() == Approx(0.005));
  CHECK(record.at("epochs").at(2).at("learning_rate").get<double>() == Approx(0.0025));
}

// The paper restarts the averaging where the rate is reduced step-wise. A linear fall to 0 reduces it by more than a
// tenth in each of its last nine iterations; restarts there would throw their gradients away.
TEST_CASE("SMA restarts at the steps of a schedule, and not where the rate falls linearly to its end") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "sma");
  r.learners = 2;
  r.learning_rate = 0.01;
  const auto restarts = [](const Json& record) { return record.at("epochs").back().at("restarts").get<int>(); };
  CHECK(restarts(run(r)) == 0);
  r.schedule = "linear";
  CHECK(restarts(run(r)) == 0);
  r.schedule = "steps";
  r.step_epochs = {1};
  CHECK(restarts(run(r)) == 1);
}

// The loss of an epoch's only iteration is that of the model before its update, which leaves no number.
TEST_CASE("A model that is not finite ends the run, and the checkpoint keeps the last one that is") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd", "");
  r.train_images = r.batch = 8;
  r.epochs = 3;
  r.learning_rate = 1e39;  // beyond single precision
  r.checkpoint = folder.path("state");
  const Json record = run(r);
  CHECK(record.at("status") == "diverged");
  CHECK(record.at("epochs").size() == 1);
  CHECK(std::isfinite(record.at("epochs").at(0).at("train_loss").get<double>()));
  r.resume = true;
  r.max_minutes = 1e-9;  // over before the first iteration: the record is of what the checkpoint holds
  const Json kept = run(r);
  CHECK(kept.at("status") == "time is up");
  CHECK(kept.at("epochs").empty());
  CHECK(digest(kept) != digest(record));
}

TEST_CASE("A loss that is not finite ends the run") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd", "");
  r.learning_rate = 1e30;
  r.weights = folder.path("weights.safetensors");
  CHECK(run(r).at("status") == "diverged");
  CHECK(!std::filesystem::exists(r.weights));
}

}  // namespace
}  // namespace lockstep::train
