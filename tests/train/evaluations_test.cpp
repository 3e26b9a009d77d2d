// Several evaluations per epoch: their places, that they change nothing, and that a target counts from the first one.
#include "tests/catch.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

Request request_with(const TemporaryFolder& folder, int evaluations_per_epoch) {
  Request r = small_request(folder, "ssgd", "");
  r.evaluations_per_epoch = evaluations_per_epoch;
  return r;
}

std::vector<std::int64_t> images_of(const Json& record) {
  std::vector<std::int64_t> images;
  for (const Json& entry : record.at("evaluations")) images.push_back(entry.at("images"));
  return images;
}

/// Returns the evaluations without their times.
std::string told(const Json& record) {
  Json all = record.at("evaluations");
  for (Json& entry : all) entry.erase("train_s");
  return all.dump();
}

TEST_CASE("evaluations are evenly spaced over the images, and the epoch's is among them") {
  const TemporaryFolder folder;
  const Json record = run(request_with(folder, 4));
  CHECK(images_of(record) == std::vector<std::int64_t>{128, 256, 384, 512, 640, 768, 896, 1024});
  CHECK(record.at("evaluations")[1].at("iterations") == 32);
  CHECK(record.at("evaluations")[1].at("epoch") == 0.5);
  for (const int epoch : {0, 1})
    CHECK(record.at("evaluations")[3 + 4 * epoch].at("test_accuracy") ==
          record.at("epochs")[epoch].at("test_accuracy"));
}

TEST_CASE("evaluations change nothing that is trained") {
  const TemporaryFolder folder;
  const Json with = run(request_with(folder, 4)), without = run(request_with(folder, 1));
  CHECK(numbers(with) == numbers(without));
  CHECK_FALSE(without.contains("evaluations"));
}

TEST_CASE("an iteration that passes several parts is evaluated once") {
  const TemporaryFolder folder;
  Request r = request_with(folder, 8);  // parts of 64 images
  r.batch = 200;
  CHECK(images_of(run(r)) == std::vector<std::int64_t>{200, 400, 600, 800, 1000, 1200});
}

TEST_CASE("the first evaluation that reaches the target ends the run, within an epoch") {
  const TemporaryFolder folder;
  Request r = request_with(folder, 16);
  r.learning_rate = 0.02;
  r.target = 0.5;  // of 4 classes
  r.epochs = 20;
  const Json record = run(r);
  CHECK(record.at("status") == "target reached");
  const Json& entries = record.at("evaluations");
  const Json& last = entries.back();
  CHECK(last.at("test_accuracy").get<double>() >= 0.5);
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) CHECK(entries[i].at("test_accuracy").get<double>() < 0.5);
  CHECK(record.at("iterations_to_target") == last.at("iterations"));
  CHECK(record.at("epochs_to_target") == last.at("epoch"));
  CHECK(record.at("final_test_accuracy") == last.at("test_accuracy"));
}

TEST_CASE("evaluations go on across a resumed run") {
  const TemporaryFolder folder;
  Request r = request_with(folder, 4);
  const std::string whole = told(run(r));
  r.epochs = 1;
  r.checkpoint = folder.path("state");
  run(r);
  r.epochs = 2;
  r.resume = true;
  CHECK(told(run(r)) == whole);
}

}  // namespace
}  // namespace lockstep::train
