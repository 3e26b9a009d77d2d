#include "engine/data/augment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/data/synthetic.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::data {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<float> transformed(const ImageShape& shape, const Transform& transform, const std::vector<float>& image) {
  std::vector<float> out(image.size());
  apply_transform(shape, transform, image.data(), out.data());
  return out;
}

void check_near(const std::vector<float>& actual, const std::vector<float>& wanted) {
  REQUIRE(actual.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(actual[i] == Approx(wanted[i]).margin(1e-5));
}

/// Draws a disc of radius 8 in the middle of a black 28x28 image, brighter to the right.
std::vector<float> disc() {
  std::vector<float> image;
  for (int y = 0; y < 28; ++y) {
    for (int x = 0; x < 28; ++x) {
      const bool is_inside = std::hypot(x - 13.5, y - 13.5) < 8;
      image.push_back(is_inside ? 1 + 0.05F * static_cast<float>(x) : 0);
    }
  }
  return image;
}

double mean(const std::vector<float>& image) {
  return std::accumulate(image.begin(), image.end(), 0.0) / static_cast<double>(image.size());
}

TEST_CASE("No angle and no zoom leave every bit of an image") {
  const SyntheticImages source(kCifarShape, 10, 1, 1);
  std::vector<float> image(3072);
  source.image(0, image.data());
  CHECK(transformed(kCifarShape, {0, 1}, image) == image);
}

TEST_CASE("Quarter turns by hand") {
  check_near(transformed({1, 2, 2}, {kPi / 2, 1}, {1, 2, 3, 4}), {2, 4, 1, 3});  // counter-clockwise
  check_near(transformed({1, 2, 2}, {-kPi / 2, 1}, {1, 2, 3, 4}), {3, 1, 4, 2});
  check_near(transformed({1, 3, 3}, {kPi / 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {3, 6, 9, 2, 5, 8, 1, 4, 7});
  check_near(transformed({1, 3, 3}, {kPi, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {9, 8, 7, 6, 5, 4, 3, 2, 1});
  check_near(transformed({2, 1, 2}, {kPi, 1}, {1, 2, 3, 4}), {2, 1, 4, 3});  // each channel by itself
}

TEST_CASE("Zooms by hand") {
  // Twice as large: offsets -1, 0, 1 show what was at -1/2, 0, 1/2.
  check_near(transformed({1, 1, 3}, {0, 2}, {0, 4, 10}), {2, 4, 7});
  // Half as large: the border's pixels continue outside.
  check_near(transformed({1, 1, 5}, {0, 0.5}, {1, 2, 3, 4, 5}), {1, 1, 3, 5, 5});
}

TEST_CASE("A turned image keeps its mean, a zoomed one's grows by the square") {
  const std::vector<float> image = disc();
  for (const double degrees : {-30.0, -10.0, 3.0, 10.0, 45.0}) {
    CHECK(mean(transformed(kMnistShape, {degrees * kPi / 180, 1}, image)) == Approx(mean(image)).epsilon(0.01));
  }
  for (const double zoom : {0.8, 0.9, 1.1, 1.2}) {
    CHECK(mean(transformed(kMnistShape, {0, zoom}, image)) == Approx(zoom * zoom * mean(image)).epsilon(0.02));
  }
}

TEST_CASE("Drawn angles and zooms fill their ranges and nothing else") {
  const AugmentationRange range{0.2, 0.9, 1.3};
  double low = 1, high = -1, sum_angle = 0, sum_zoom = 0;
  for (std::int64_t i = 0; i < 10000; ++i) {
    const Transform drawn = draw_transform(range, 3, 1, i);
    REQUIRE((std::abs(drawn.angle_rad) <= 0.2 && drawn.zoom >= 0.9 && drawn.zoom <= 1.3));
    low = std::min(low, drawn.angle_rad);
    high = std::max(high, drawn.angle_rad);
    sum_angle += drawn.angle_rad;
    sum_zoom += drawn.zoom;
  }
  CHECK(low < -0.199);
  CHECK(high > 0.199);
  CHECK(std::abs(sum_angle / 10000) < 0.006);  // 5 standard errors of 0.4 / sqrt(12) / 100
  CHECK(sum_zoom / 10000 == Approx(1.1).margin(0.006));
}

TEST_CASE("Augmentation follows from seed, epoch and image number") {
  const std::vector<float> image = disc();
  const std::vector<float> once = augment(kMnistShape, image, 1, 2, 3);
  CHECK(augment(kMnistShape, image, 1, 2, 3) == once);
  CHECK(once != image);
  CHECK(augment(kMnistShape, image, 2, 2, 3) != once);
  CHECK(augment(kMnistShape, image, 1, 3, 3) != once);
  CHECK(augment(kMnistShape, image, 1, 2, 4) != once);
}

TEST_CASE("An augmented batch is the same image by image, wherever an image stands in it") {
  const SyntheticImages source(kMnistShape, 10, 20, 1);
  const AugmentationRange range;
  Batch batch;
  read_batch(source, {{4, 2}, {9, 2}, {4, 3}}, &range, 6, batch);
  CHECK(batch.labels == std::vector<std::int32_t>{4, 9, 4});
  std::vector<float> image(784);
  source.image(4, image.data());
  const auto part = [&](std::ptrdiff_t i) {
    return std::vector<float>(batch.images.begin() + 784 * i, batch.images.begin() + 784 * (i + 1));
  };
  CHECK(part(0) == augment(kMnistShape, image, 6, 2, 4));
  CHECK(part(2) == augment(kMnistShape, image, 6, 3, 4));
}

TEST_CASE("An augmentation that makes no sense is refused") {
  float pixel = 0, out = 0;
  CHECK(error_of([&] {
          apply_transform({1, 1, 1}, {0, 0}, &pixel, &out);
        }) == "augmentation: zoom 0.000000 is not positive");
  CHECK(error_of([] { augment({1, 2, 2}, {1, 2, 3}, 1, 1, 1); }) == "augmentation: an image of 3 values; expected 4");
}

}  // namespace
}  // namespace lockstep::data
