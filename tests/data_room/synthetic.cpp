#include "engine/data/synthetic.hpp"

#include <cmath>
#include <limits>

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::data {
namespace {

std::vector<float> image_of(const ImageSource& source, std::int64_t index) {
  std::vector<float> image(static_cast<std::size_t>(source.shape().elements()));
  source.image(index, image.data());
  return image;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// Returns the mean image of every class.
std::vector<std::vector<float>> class_means(const ImageSource& source) {
  const std::size_t classes = static_cast<std::size_t>(source.classes());
  std::vector<std::vector<float>> means(classes, std::vector<float>(source.shape().elements()));
  for (std::int64_t n = 0; n < source.count(); ++n) {
    const std::vector<float> image = image_of(source, n);
    std::vector<float>& mean = means[static_cast<std::size_t>(source.label(n))];
    for (std::size_t i = 0; i < image.size(); ++i) mean[i] += image[i];
  }
  const float share = static_cast<float>(source.classes()) / static_cast<float>(source.count());
  for (std::vector<float>& mean : means) {
    for (float& value : mean) value *= share;
  }
  return means;
}

/// Returns the share of images that are nearest to the mean of their class.
double nearest_mean_accuracy(const ImageSource& source, const std::vector<std::vector<float>>& means) {
  std::int64_t right = 0;
  for (std::int64_t n = 0; n < source.count(); ++n) {
    const std::vector<float> image = image_of(source, n);
    std::size_t best = 0;
    for (std::size_t c = 1; c < means.size(); ++c) {
      if (squared_distance(image, means[c]) < squared_distance(image, means[best])) best = c;
    }
    right += source.label(n) == static_cast<std::int32_t>(best);
  }
  return static_cast<double>(right) / static_cast<double>(source.count());
}

TEST_CASE("Synthetic classes are told apart by a nearest-mean rule on unseen images") {
  for (const double noise : {1.0, 5.0}) {
    const SyntheticImages train(kMnistShape, 10, 500, 7, 0, noise);
    const SyntheticImages test(kMnistShape, 10, 200, 7, 500, noise);
    CHECK(nearest_mean_accuracy(test, class_means(train)) > 0.9);  // chance: 0.1
  }
  const SyntheticImages train = synthetic_images(kMnistShape, 10, 500, 7);
  const SyntheticImages other(kMnistShape, 10, 200, 8);
  CHECK(nearest_mean_accuracy(other, class_means(train)) < 0.5);  // another seed has other patterns
}

TEST_CASE("A synthetic image is its class's pattern plus noise of the asked deviation") {
  const SyntheticImages images(kCifarShape, 10, 100, 3, 0, 0.5);
  std::vector<float> pattern(3072);
  images.pattern(images.label(42), pattern.data());
  CHECK(std::sqrt(squared_distance(image_of(images, 42), pattern) / 3072) == Approx(0.5).epsilon(0.05));
}

TEST_CASE("Synthetic images follow from seed and number alone") {
  const SyntheticImages images(kCifarShape, 10, 100, 3);
  const SyntheticImages later(kCifarShape, 10, 50, 3, 13);
  CHECK(image_of(images, 17) == image_of(later, 4));
  CHECK(images.label(17) == later.label(4));
  CHECK(image_of(images, 17) != image_of(images, 27));  // the same class, other noise
  CHECK(image_of(images, 17) != image_of(SyntheticImages(kCifarShape, 10, 100, 4), 17));
}

TEST_CASE("A synthetic ImageNet takes no memory but the image asked for") {
  const SyntheticImages images = synthetic_images(kImageNetShape, 1000, 1281167, 1);
  CHECK(images.name() == "synthetic 3x224x224");
  CHECK(images.label(1281166) == 166);
  for (const float value : image_of(images, 1281166)) REQUIRE(std::abs(value) < 3 * std::sqrt(2) + 2);
}

TEST_CASE("Synthetic images of nothing are refused") {
  const auto error = [](ImageShape shape, int classes, std::int64_t count, std::int64_t first) {
    return error_of([&] { SyntheticImages(shape, classes, count, 1, first); });
  };
  CHECK(error({0, 2, 2}, 1, 1, 0) == "synthetic 0x2x2: an image has no pixels");
  CHECK(error({1, 2, 2}, 0, 1, 0) == "synthetic 1x2x2: 0 classes; expected at least 1");
  CHECK(error({1, 2, 2}, 1, 0, 0) == "synthetic 1x2x2: 0 images; expected at least 1");
  CHECK(error({1, 2, 2}, 1, 1, -1) == "synthetic 1x2x2: first image -1; expected at least 0");
}

}  // namespace
}  // namespace lockstep::data
