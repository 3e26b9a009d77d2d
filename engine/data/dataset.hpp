#pragma once
// Labelled images, and the conversion of training samples to batches.
//
// A source returns images as normalised floats: (byte / 255 - mean[c]) / deviation[c] for channel c, laid out channels
// x height x width. A batch stores them contiguously (NCHW).
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

/// The key of random augmentation is made of this and the image's index.
struct Draw {
  std::uint64_t seed;
  std::int64_t epoch;
};

/// A source of images. Const member functions may run in several threads at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual const std::string& name() const = 0;
  virtual const ImageShape& shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int64_t count() const = 0;
  /// The label, in [0, classes()).
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Writes shape().elements() normalised floats and returns the label.
  virtual std::int32_t image(std::int64_t index, float* out) const;

  /// The normalised float of every byte value, 256 per channel, channel by channel. Empty if the images are not bytes.
  /// A device converts bytes with this table (ByteImages of engine/device/backend.hpp).
  virtual const std::vector<float>& byte_values() const;
  /// Writes shape().elements() bytes and returns the label; requires byte_values(). With a `draw`, and if the source
  /// is_drawn(), augments the image as for training; else returns the image for tests.
  virtual std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const;
  /// Whether the source itself augments images (crops, mirroring), so that rotations and zooms are not applied.
  virtual bool is_drawn() const { return false; }
  /// Unreadable images so far, each replaced by another image: "FILE: why", sorted by name.
  virtual std::vector<std::string> passed_over() const { return {}; }
};

/// Converts the bytes that read() wrote to normalised floats.
void make_floats(const ImageSource& source, const std::uint8_t* bytes, float* out);

/// Per channel, for pixels scaled to [0, 1].
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// A data set held in memory as bytes.
class Dataset : public ImageSource {
 public:
  /// Throws InputError, with the data set's name, if there are no images, if the numbers of bytes and labels do not
  /// match, or if a label is outside the classes. Also throws if the normalisation has another number of channels or a
  /// deviation that is not positive.
  Dataset(std::string name, ImageShape shape, int classes, std::vector<std::uint8_t> images,
          std::vector<std::uint8_t> labels, Normalisation normalisation);

  const std::string& name() const override { return name_; }
  const ImageShape& shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t label(std::int64_t index) const override { return labels_.at(static_cast<std::size_t>(index)); }
  const std::vector<float>& byte_values() const override { return floats_; }
  std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const override;

  /// The unmodified bytes of an image.
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

/// Computes byte_values() from a normalisation.
std::vector<float> float_table(const Normalisation& normalisation);

/// Returns the mean and (population) standard deviation of every channel of the data set's bytes / 255.
Normalisation measure_normalisation(const Dataset& dataset);

}  // namespace lockstep::data
