#include "engine/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/json.hpp"

namespace lockstep::data {
namespace {

constexpr int kByteValues = 256;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

void check_sizes(const std::string& name, const ImageShape& shape, std::size_t bytes, std::size_t labels) {
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1) throw InputError(name + ": an image has no pixels");
  if (labels == 0) throw InputError(name + ": no images");
  const std::int64_t wanted = shape.elements() * static_cast<std::int64_t>(labels);
  if (static_cast<std::int64_t>(bytes) != wanted) {
    throw InputError(name + ": " + std::to_string(bytes) + " bytes of images; expected " + number(wanted) + " for " +
                     std::to_string(labels) + " labels");
  }
}

void check_labels(const std::string& name, const std::vector<std::uint8_t>& labels, int classes) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    throw InputError(name + ": label " + std::to_string(labels[i]) + " of image " + std::to_string(i) +
                     "; expected 0 to " + std::to_string(classes - 1));
  }
}

void check_normalisation(const std::string& name, const Normalisation& normalisation, int channels) {
  const std::size_t wanted = static_cast<std::size_t>(channels);
  if (normalisation.mean.size() != wanted || normalisation.deviation.size() != wanted) {
    throw InputError(name + ": normalisation of " + std::to_string(normalisation.mean.size()) + " means and " +
                     std::to_string(normalisation.deviation.size()) + " deviations; expected " +
                     std::to_string(channels) + " of each");
  }
  for (const float deviation : normalisation.deviation) {
    if (!(deviation > 0)) throw InputError(name + ": a deviation of the normalisation is not positive");
  }
}

}  // namespace

std::vector<float> float_table(const Normalisation& normalisation) {
  std::vector<float> table;
  table.reserve(normalisation.mean.size() * kByteValues);
  for (std::size_t c = 0; c < normalisation.mean.size(); ++c) {
    for (int byte = 0; byte < kByteValues; ++byte) {
      table.push_back((static_cast<float>(byte) / 255.0F - normalisation.mean[c]) / normalisation.deviation[c]);
    }
  }
  return table;
}

Dataset::Dataset(std::string name, ImageShape shape, int classes, std::vector<std::uint8_t> images,
                 std::vector<std::uint8_t> labels, Normalisation normalisation)
    : name_(std::move(name)),
      shape_(shape),
      classes_(classes),
      images_(std::move(images)),
      labels_(std::move(labels)),
      normalisation_(std::move(normalisation)) {
  check_sizes(name_, shape_, images_.size(), labels_.size());
  check_labels(name_, labels_, classes_);
  check_normalisation(name_, normalisation_, shape_.channels);
  floats_ = float_table(normalisation_);
}

const std::vector<float>& ImageSource::byte_values() const {
  static const std::vector<float> none;
  return none;
}

std::int32_t ImageSource::read(std::int64_t, const Draw*, std::uint8_t*) const {
  throw std::logic_error(name() + ": its images are no bytes");
}

std::int32_t ImageSource::image(std::int64_t index, float* out) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape().elements()));
  const std::int32_t label = read(index, nullptr, bytes.data());
  make_floats(*this, bytes.data(), out);
  return label;
}

void make_floats(const ImageSource& source, const std::uint8_t* bytes, float* out) {
  const std::int64_t pixels = std::int64_t{source.shape().height} * source.shape().width;
  const float* table = source.byte_values().data();
  for (int c = 0; c < source.shape().channels; ++c, table += kByteValues)
    for (std::int64_t i = 0; i < pixels; ++i) *out++ = table[*bytes++];
}

std::int32_t Dataset::read(std::int64_t index, const Draw*, std::uint8_t* out) const {
  std::copy_n(bytes(index), shape_.elements(), out);
  return label(index);
}

Normalisation measure_normalisation(const Dataset& dataset) {
  const std::int64_t pixels = std::int64_t{dataset.shape().height} * dataset.shape().width;
  const double count = static_cast<double>(pixels * dataset.count());
  Normalisation result;
  for (int c = 0; c < dataset.shape().channels; ++c) {
    // Integers: sums of bytes and of their squares are exact for any size of the data set.
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (std::int64_t n = 0; n < dataset.count(); ++n) {
      const std::uint8_t* in = dataset.bytes(n) + c * pixels;
      for (std::int64_t i = 0; i < pixels; ++i) {
        sum += in[i];
        squares += std::int64_t{in[i]} * in[i];
      }
    }
    const double mean = static_cast<double>(sum) / count;
    const double variance = static_cast<double>(squares) / count - mean * mean;
    result.mean.push_back(static_cast<float>(mean / 255));
    result.deviation.push_back(static_cast<float>(std::sqrt(variance) / 255));
  }
  return result;
}

}  // namespace lockstep::data
