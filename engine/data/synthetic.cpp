#include "engine/data/synthetic.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/json.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {
namespace {

constexpr int kWaves = 3;
constexpr float kHighestByte = 255;
constexpr int kHighestFrequency = 4;
// Two streams of the seed. In them, each class or image has a seed of its own.
constexpr std::uint64_t kPatternStream = 0x5061747465726E73;
constexpr std::uint64_t kNoiseStream = 0x4E6F6973654E6F69;

int draw_frequency(std::uint64_t key, std::uint64_t index) {
  constexpr int kChoices = 2 * kHighestFrequency + 1;
  return static_cast<int>(random_uniform(key, 0, index) * kChoices) - kHighestFrequency;
}

/// Holds cos and sin of 2 pi frequency i / size + phase.
struct Table {
  std::vector<float> cosine;
  std::vector<float> sine;
  Table(int frequency, int size, double phase) {
    for (int i = 0; i < size; ++i) {
      const double angle = 2 * M_PI * frequency * i / size + phase;
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }
};

/// Uses cos(a + b) = cos a cos b - sin a sin b, so cosines are computed per row and column, not per pixel.
void add_wave(const Table& columns, const Table& rows, float* out) {
  const float scale = static_cast<float>(1 / std::sqrt(kWaves / 2.0));
  for (std::size_t y = 0; y < rows.cosine.size(); ++y) {
    const float cosine = scale * rows.cosine[y];
    const float sine = scale * rows.sine[y];
    for (std::size_t x = 0; x < columns.cosine.size(); ++x) {
      *out++ += columns.cosine[x] * cosine - columns.sine[x] * sine;
    }
  }
}

std::string shape_text(const ImageShape& shape) {
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.width);
}

}  // namespace

SyntheticImages::SyntheticImages(ImageShape shape, int classes, std::int64_t count, std::uint64_t seed,
                                 std::int64_t first, double noise)
    : name_("synthetic " + shape_text(shape)),
      shape_(shape),
      classes_(classes),
      count_(count),
      seed_(seed),
      first_(first),
      noise_(noise) {
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1) throw InputError(name_ + ": an image has no pixels");
  if (classes < 1) throw InputError(name_ + ": " + std::to_string(classes) + " classes; expected at least 1");
  if (count < 1) throw InputError(name_ + ": " + std::to_string(count) + " images; expected at least 1");
  if (first < 0) throw InputError(name_ + ": first image " + std::to_string(first) + "; expected at least 0");
  for (int c = 0; c < shape.channels; ++c)
    for (int byte = 0; byte <= static_cast<int>(kHighestByte); ++byte)
      values_.push_back(static_cast<float>(reach() * (2.0 * byte / kHighestByte - 1)));
}

void SyntheticImages::pattern(std::int32_t label, float* out) const {
  std::fill(out, out + shape_.elements(), 0.0F);
  const std::uint64_t key = random_bits(seed_, kPatternStream, static_cast<std::uint64_t>(label));
  const std::int64_t pixels = std::int64_t{shape_.height} * shape_.width;
  for (std::uint64_t k = 0; k < kWaves; ++k) {
    const int u = draw_frequency(key, 2 * k);
    const int v = draw_frequency(key, 2 * k + 1);
    const Table rows(v, shape_.height, 0);
    for (int c = 0; c < shape_.channels; ++c) {
      const double phase = 2 * M_PI * random_uniform(key, 1 + k, static_cast<std::uint64_t>(c));
      add_wave(Table(u, shape_.width, phase), rows, out + c * pixels);
    }
  }
}

/// The largest absolute value that a pixel can have.
double SyntheticImages::reach() const {
  return kWaves / std::sqrt(kWaves / 2.0) + std::sqrt(3.0) * noise_;
}

std::int32_t SyntheticImages::read(std::int64_t index, const Draw*, std::uint8_t* out) const {
  const std::int64_t elements = shape_.elements();
  static thread_local std::vector<float> pixels;  // mapping new memory per image would double the time
  pixels.resize(static_cast<std::size_t>(elements));
  pattern(label(index), pixels.data());
  const std::uint64_t key = random_bits(seed_, kNoiseStream, static_cast<std::uint64_t>(first_ + index));
  // A draw of 64 bits gives noise for four pixels. 16 bits suffice, and generation must not slow training down.
  const float noise = static_cast<float>(noise_ * std::sqrt(12.0) / 65536);
  for (std::int64_t i = 0; i < elements; i += 4) {
    std::uint64_t bits = random_bits(key, 0, static_cast<std::uint64_t>(i / 4));
    const std::int64_t end = std::min(i + 4, elements);
    for (std::int64_t j = i; j < end; ++j, bits >>= 16)
      pixels[static_cast<std::size_t>(j)] += (static_cast<float>(bits & 0xFFFF) - 32767.5F) * noise;
  }
  const auto reach = static_cast<float>(this->reach());
  const float steps = kHighestByte / (2 * reach);
  const float* __restrict values = pixels.data();  // else the compiler assumes that `out` overlaps it
  for (std::int64_t i = 0; i < elements; ++i) {    // rounding may exceed [0, 255]
    const float place = std::min(std::max((values[i] + reach) * steps + 0.5F, 0.0F), kHighestByte);
    out[i] = static_cast<std::uint8_t>(static_cast<int>(place));
  }
  return label(index);
}

SyntheticImages synthetic_images(ImageShape shape, int classes, std::int64_t count, std::uint64_t seed) {
  return SyntheticImages(shape, classes, count, seed);
}

}  // namespace lockstep::data
