#pragma once
// The binary files of CIFAR-10 (Krizhevsky, 2009): data_batch_1.bin to data_batch_5.bin and test_batch.bin, each a
// sequence of images of 3,073 bytes: the class, 0 to 9, then 3x32x32 pixels, channel by channel, row by row.
#include <string>

#include "engine/data/dataset.hpp"

namespace lockstep::data {

constexpr const char* kCifarFirstFile = "data_batch_1.bin";

struct CifarRecords {
  std::vector<std::uint8_t> images, labels;
};

/// Parses a file's content; errors name it `name`. Throws InputError if there is no image, if the last one is
/// incomplete, or if a class is above 9.
CifarRecords parse_cifar(const std::string& content, const std::string& name);

/// Augments an image of 3x32x32 by a shift of up to 4 pixels in each direction, with black at the border, and by
/// mirroring half of the images. "4 pixels are padded on each side, and a 32x32 crop is randomly sampled from the
/// padded image or its horizontal flip" (He et al., 2016, section 4.2). All shifts are equally likely.
class CifarImages final : public Dataset {
 public:
  using Dataset::Dataset;
  bool is_drawn() const override { return true; }
  std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const override;
};

struct CifarTrainAndTest {
  CifarImages train;
  CifarImages test;
};

/// Reads the six files of `folder`, each with any number of images. Normalises by the training pixels of the original
/// data set: means 0.4914, 0.4822, 0.4465, deviations 0.2470, 0.2435, 0.2616. Throws InputError.
CifarTrainAndTest load_cifar10(const std::string& folder);

}  // namespace lockstep::data
