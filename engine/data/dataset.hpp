#pragma once
// Images with labels, and how a training batch is made of them.
//
// A source hands out images as normalised floats: (byte / 255 - mean[c]) / deviation[c] for channel c, laid out
// channels x height x width; a batch puts them one after another (NCHW).
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const ImageShape& o) const {
    return channels == o.channels && height == o.height && width == o.width;
  }
};

/// What is random in an image as training sees it follows from these and the image's number.
struct Draw {
  std::uint64_t seed;
  std::int64_t epoch;
};

/// Where images come from. Const calls may run in several threads at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual const std::string& name() const = 0;
  virtual const ImageShape& shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int64_t count() const = 0;
  /// In [0, classes()).
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Writes shape().elements() normalised floats, and returns the label.
  virtual std::int32_t image(std::int64_t index, float* out) const;

  /// Where images are bytes by nature, the normalised float of each: 256 for each channel, one channel after another;
  /// else empty. A device makes floats of them (ByteImages of engine/device/backend.hpp).
  virtual const std::vector<float>& byte_values() const;
  /// Where there are byte_values(): writes shape().elements() bytes, and returns the label. With a `draw` as training
  /// sees the image, where the source is_drawn(); else as it is tested.
  virtual std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const;
  /// Whether augmented images are drawn by the source itself (crops, mirrored), in place of rotations and zooms.
  virtual bool is_drawn() const { return false; }
  /// Images that could not be read so far, for each of which another was taken: "FILE: why", by name.
  virtual std::vector<std::string> passed_over() const { return {}; }
};

/// What read() with the same arguments writes, normalised.
void make_floats(const ImageSource& source, const std::uint8_t* bytes, float* out);

/// Per channel, on pixels scaled to [0, 1].
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// A data set held in memory as bytes.
class Dataset : public ImageSource {
 public:
  /// Throws InputError, naming the data set: no images, bytes or labels of another number, a label outside the
  /// classes, a normalisation of another number of channels or with a deviation that is not positive.
  Dataset(std::string name, ImageShape shape, int classes, std::vector<std::uint8_t> images,
          std::vector<std::uint8_t> labels, Normalisation normalisation);

  const std::string& name() const override { return name_; }
  const ImageShape& shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int64_t index) const override { return labels_.at(static_cast<std::size_t>(index)); }
  const std::vector<float>& byte_values() const override { return floats_; }
  std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const override;

  /// The image's bytes as read.
  const std::uint8_t* bytes(std::int64_t index) const { return images_.data() + index * shape_.elements(); }
  const Normalisation& normalisation() const { return normalisation_; }

 private:
  std::string name_;
  ImageShape shape_;
  int classes_;
  std::vector<std::uint8_t> images_;
  std::vector<std::uint8_t> labels_;
  Normalisation normalisation_;
  std::vector<float> floats_;  ///< normalised value of (channel, byte): 256 per channel
};

/// What byte_values() are by a normalisation.
std::vector<float> float_table(const Normalisation& normalisation);

/// Mean and (population) standard deviation of every channel of the data set's bytes / 255.
Normalisation measure_normalisation(const Dataset& dataset);

}  // namespace lockstep::data
