#include "engine/data/augment.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/json.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kAugmentStream = 0x4175676D656E7473;

/// Places a coordinate between two pixels of an axis: value = (1 - weight) * in[low] + weight * in[high].
struct Between {
  int low;
  int high;
  float weight;
};

Between between(double coordinate, int size) {
  const double inside = std::clamp(coordinate, 0.0, static_cast<double>(size - 1));
  const int low = static_cast<int>(inside);
  return {low, std::min(low + 1, size - 1), static_cast<float>(inside - low)};
}

float interpolate(const float* plane, int width, const Between& y, const Between& x) {
  const float* top = plane + std::ptrdiff_t{y.low} * width;
  const float* bottom = plane + std::ptrdiff_t{y.high} * width;
  const float above = top[x.low] + x.weight * (top[x.high] - top[x.low]);
  const float below = bottom[x.low] + x.weight * (bottom[x.high] - bottom[x.low]);
  return above + y.weight * (below - above);
}

}  // namespace

Transform draw_transform(const AugmentationRange& range, std::uint64_t seed, std::int64_t epoch, std::int64_t index) {
  const std::uint64_t key = random_bits(seed, kAugmentStream, static_cast<std::uint64_t>(epoch));
  const double turn = random_uniform(key, 0, static_cast<std::uint64_t>(index));
  const double zoom = random_uniform(key, 1, static_cast<std::uint64_t>(index));
  return {(2 * turn - 1) * range.rotation_rad, range.zoom_low + zoom * (range.zoom_high - range.zoom_low)};
}

void apply_transform(const ImageShape& shape, const Transform& transform, const float* in, float* out) {
  if (!(transform.zoom > 0))
    throw InputError("augmentation: zoom " + std::to_string(transform.zoom) + " is not positive");
  const double cosine = std::cos(transform.angle_rad) / transform.zoom;
  const double sine = std::sin(transform.angle_rad) / transform.zoom;
  const double centre_x = (shape.width - 1) / 2.0;
  const double centre_y = (shape.height - 1) / 2.0;
  const std::ptrdiff_t pixels = std::ptrdiff_t{shape.height} * shape.width;
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x, ++out) {
      const double dx = x - centre_x;
      const double dy = y - centre_y;
      const Between column = between(centre_x + cosine * dx - sine * dy, shape.width);
      const Between row = between(centre_y + sine * dx + cosine * dy, shape.height);
      for (int c = 0; c < shape.channels; ++c) {
        out[c * pixels] = interpolate(in + c * pixels, shape.width, row, column);
      }
    }
  }
}

std::vector<float> augment(const ImageShape& shape, const std::vector<float>& image, std::uint64_t seed,
                           std::int64_t epoch, std::int64_t index) {
  if (static_cast<std::int64_t>(image.size()) != shape.elements()) {
    throw InputError("augmentation: an image of " + std::to_string(image.size()) + " values; expected " +
                     std::to_string(shape.elements()));
  }
  std::vector<float> result(image.size());
  apply_transform(shape, draw_transform(AugmentationRange{}, seed, epoch, index), image.data(), result.data());
  return result;
}

void Batch::wait_until_read() {
  if (until_read) until_read();
  until_read = nullptr;
}

void resize_batch(const ImageSource& source, std::size_t samples, Batch& batch, Pixels pixels, bool is_augmented,
                  const Allocate& allocate) {
  batch.wait_until_read();
  const std::size_t elements = samples * static_cast<std::size_t>(source.shape().elements());
  const bool are_bytes = pixels == Pixels::bytes;
  batch.images.resize(are_bytes ? 0 : elements);
  batch.bytes.resize(are_bytes ? elements : 0, allocate);
  batch.transforms.resize(are_bytes && is_augmented && !source.is_drawn() ? samples : 0);
  batch.byte_values = are_bytes ? source.byte_values().data() : nullptr;
  batch.labels.resize(samples);
}

void read_batch(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
                std::uint64_t seed, Batch& batch) {
  resize_batch(source, samples.size(), batch);
  read_part(source, samples, range, seed, 0, samples.size(), batch);
}

namespace {

/// Reads one image after another as normalised floats, augmented as requested.
class FloatImages {
 public:
  FloatImages(const ImageSource& source, const AugmentationRange* range, std::uint64_t seed)
      : source_(source), range_(source.is_drawn() ? nullptr : range), seed_(seed), is_drawn_(range != nullptr) {
    const auto elements = static_cast<std::size_t>(source.shape().elements());
    if (!source.byte_values().empty()) bytes_.resize(elements);
    if (range_ != nullptr) original_.resize(elements);
  }

  std::int32_t read(const Sample& sample, float* out) {
    float* const original = range_ != nullptr ? original_.data() : out;
    const std::int32_t label = read_original(sample, original);
    if (range_ == nullptr) return label;
    apply_transform(source_.shape(), draw_transform(*range_, seed_, sample.epoch, sample.index), original, out);
    return label;
  }

 private:
  std::int32_t read_original(const Sample& sample, float* out) {
    if (bytes_.empty()) return source_.image(sample.index, out);
    const Draw draw{seed_, sample.epoch};
    const std::int32_t label = source_.read(sample.index, is_drawn_ ? &draw : nullptr, bytes_.data());
    make_floats(source_, bytes_.data(), out);
    return label;
  }

  const ImageSource& source_;
  const AugmentationRange* range_;  ///< null: the source augments, or there is no augmentation
  std::uint64_t seed_;
  bool is_drawn_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> original_;
};

}  // namespace

void read_part(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
               std::uint64_t seed, std::size_t begin, std::size_t end, Batch& batch) {
  const auto elements = static_cast<std::size_t>(source.shape().elements());
  const bool are_bytes = !batch.bytes.empty();
  std::optional<FloatImages> floats;
  if (!are_bytes) floats.emplace(source, range, seed);
  for (std::size_t i = begin; i < end; ++i) {
    const Sample& sample = samples[i];
    if (sample.index < 0 || sample.index >= source.count()) {
      throw InputError(source.name() + ": image " + std::to_string(sample.index) + " of " +
                       std::to_string(source.count()));
    }
    if (!are_bytes) {
      batch.labels[i] = floats->read(sample, batch.images.data() + i * elements);
      continue;
    }
    const Draw draw{seed, sample.epoch};
    batch.labels[i] = source.read(sample.index, range != nullptr ? &draw : nullptr, batch.bytes.data() + i * elements);
    if (!batch.transforms.empty()) batch.transforms[i] = draw_transform(*range, seed, sample.epoch, sample.index);
  }
}

}  // namespace lockstep::data
