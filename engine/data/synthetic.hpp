#pragma once
// Learnable images without files: every class has a pattern, and every image is its class's pattern plus noise. Nothing
// is stored, because image i follows from (seed, i). So 1.28 million ImageNet-shaped images take no memory, and two
// processes get the same ones.
//
//   pixel(i, c, y, x) = sum_{k=1..3} cos(2 pi (u_k x / width + v_k y / height) + phase_{k,c}) / sqrt(1.5) + n
//
// Pixels are rounded to 256 values, evenly spaced in [-r, r] with r = sqrt(6) + sqrt(3) noise, which bounds every
// pixel. So the images are bytes, as real ones are. u_k and v_k are integers in [-4, 4], drawn with the phases for
// (seed, class). The pattern's variance is 1 if the three waves differ. n is uniform with mean 0 and deviation `noise`,
// drawn for (seed, i, pixel).
#include <cstdint>
#include <string>

#include "engine/data/dataset.hpp"

namespace lockstep::data {

constexpr ImageShape kImageNetShape{3, 224, 224};
constexpr ImageShape kCifarShape{3, 32, 32};
constexpr ImageShape kMnistShape{1, 28, 28};

class SyntheticImages : public ImageSource {
 public:
  /// `first` shifts the images' indices, not the patterns. A test set has the same seed and, as `first`, the training
  /// set's count. Throws InputError for an empty shape, fewer than 1 class or image, or a negative `first`.
  SyntheticImages(ImageShape shape, int classes, std::int64_t count, std::uint64_t seed, std::int64_t first = 0,
                  double noise = 1.0);

  const std::string& name() const override { return name_; }
  const ImageShape& shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t count() const override { return count_; }
  /// Classes alternate, so that all have the same number of images.
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>((first_ + index) % classes_);
  }
  const std::vector<float>& byte_values() const override { return values_; }
  std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const override;

  /// The class's pattern without noise.
  void pattern(std::int32_t label, float* out) const;

 private:
  double reach() const;

  std::string name_;
  ImageShape shape_;
  int classes_;
  std::int64_t count_;
  std::uint64_t seed_;
  std::int64_t first_;
  double noise_;
  std::vector<float> values_;
};

SyntheticImages synthetic_images(ImageShape shape, int classes, std::int64_t count, std::uint64_t seed);

}  // namespace lockstep::data
