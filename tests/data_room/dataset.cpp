#include "engine/data/dataset.hpp"

#include <cmath>
#include <filesystem>

#include "engine/data/augment.hpp"
#include "engine/data/mnist.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST_CASE("Pixels are scaled to [0, 1], then normalised channel by channel") {
  const Dataset set("set", {2, 1, 2}, 3, {0, 255, 51, 102, 255, 0, 0, 0}, {2, 0}, {{0.5F, 0.2F}, {0.5F, 0.1F}});
  std::vector<float> image(4);
  set.image(0, image.data());
  CHECK(image[0] == Approx(-1));  // (0 - 0.5) / 0.5
  CHECK(image[1] == Approx(1));
  CHECK(image[2] == Approx(0).margin(1e-6));  // 51 / 255 = 0.2
  CHECK(image[3] == Approx(2));               // (0.4 - 0.2) / 0.1
  CHECK(set.label(0) == 2);
  CHECK(set.count() == 2);
}

TEST_CASE("A batch holds the images asked for, one after another") {
  const Dataset set("set", {1, 1, 2}, 3, {0, 255, 255, 255, 0, 0}, {2, 0, 1}, {{0}, {1}});
  Batch batch;
  read_batch(set, {{2, 0}, {0, 0}}, nullptr, 0, batch);
  CHECK(batch.images == std::vector<float>{0, 0, 0, 1});
  CHECK(batch.labels == std::vector<std::int32_t>{1, 2});
  CHECK(error_of([&] { read_batch(set, {{3, 0}}, nullptr, 0, batch); }) == "set: image 3 of 3");
}

TEST_CASE("A measured normalisation makes mean 0 and deviation 1") {
  const Dataset set("set", {2, 1, 2}, 1, {0, 255, 10, 10, 0, 255, 20, 20}, {0, 0}, {{0, 0}, {1, 1}});
  const Normalisation measured = measure_normalisation(set);
  CHECK(measured.mean[0] == Approx(0.5));
  CHECK(measured.deviation[0] == Approx(0.5));
  CHECK(measured.mean[1] == Approx(15.0 / 255));
  CHECK(measured.deviation[1] == Approx(5.0 / 255));
}

TEST_CASE("A data set that contradicts itself is refused") {
  const auto error = [](ImageShape shape, Bytes images, Bytes labels, Normalisation normalisation) {
    return error_of([&] { Dataset("set", shape, 2, images, labels, normalisation); });
  };
  const Normalisation plain{{0}, {1}};
  CHECK(error({1, 0, 2}, {}, {0}, plain) == "set: an image has no pixels");
  CHECK(error({1, 1, 2}, {}, {}, plain) == "set: no images");
  CHECK(error({1, 1, 2}, {1, 2, 3}, {0, 1}, plain) == "set: 3 bytes of images; expected 4 for 2 labels");
  CHECK(error({1, 1, 1}, {1, 2}, {0, 2}, plain) == "set: label 2 of image 1; expected 0 to 1");
  CHECK(error({1, 1, 1}, {1}, {0}, {{0, 0}, {1}}) ==
        "set: normalisation of 2 means and 1 deviations; expected 1 of each");
  CHECK(error({1, 1, 1}, {1}, {0}, {{0}, {0}}) == "set: a deviation of the normalisation is not positive");
}

/// Returns the folder of a data set that ./bootstrap data fetched, or "" with a warning.
std::string fetched(const std::string& name) {
  const std::string folder = std::string(LOCKSTEP_SOURCE_DIR) + "/build/data/" + name;
  if (std::filesystem::exists(folder)) return folder;
  WARN("skipped: no build/data/" + name + "; ./bootstrap data fetches it");
  return "";
}

std::vector<int> histogram(const Dataset& set) {
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < set.count(); ++i) ++counts[static_cast<std::size_t>(set.label(i))];
  return counts;
}

void check_normalisation(const Dataset& set) {
  const Normalisation measured = measure_normalisation(set);
  CHECK(std::abs(measured.mean[0] - set.normalisation().mean[0]) < 1e-4);
  CHECK(std::abs(measured.deviation[0] - set.normalisation().deviation[0]) < 1e-4);
}

TEST_CASE("MNIST has its known digits") {
  const std::string folder = fetched("mnist");
  if (folder.empty()) return;
  const TrainAndTest mnist = load_mnist(folder);
  CHECK(mnist.train.count() == 60000);
  CHECK(mnist.test.count() == 10000);
  CHECK(histogram(mnist.train) == std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  CHECK(histogram(mnist.test) == std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
  check_normalisation(mnist.train);
}

TEST_CASE("Fashion-MNIST has 6000 and 1000 images of each class") {
  const std::string folder = fetched("fashion-mnist");
  if (folder.empty()) return;
  const TrainAndTest fashion = load_fashion_mnist(folder);
  CHECK(histogram(fashion.train) == std::vector<int>(10, 6000));
  CHECK(histogram(fashion.test) == std::vector<int>(10, 1000));
  check_normalisation(fashion.train);
}

}  // namespace
}  // namespace lockstep::data
