#include "engine/data/cifar.hpp"

#include <algorithm>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{3, 32, 32};
constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr int kClasses = 10;
constexpr int kFiles = 5;
constexpr int kFarthest = 4;  // maximum shift in pixels
constexpr std::size_t kLargestFileBytes = std::size_t{1} << 30;
constexpr std::uint64_t kDrawStream = 0x4369666172447261;

void append(CifarRecords& all, const std::string& path) {
  std::string content;
  std::string why;
  if (!try_read_file(path, kLargestFileBytes, content, why)) throw InputError(path + ": cannot be read: " + why);
  const CifarRecords records = parse_cifar(content, path);
  all.images.insert(all.images.end(), records.images.begin(), records.images.end());
  all.labels.insert(all.labels.end(), records.labels.begin(), records.labels.end());
}

CifarImages images_of(const std::string& name, CifarRecords records) {
  return CifarImages(name, kShape, kClasses, std::move(records.images), std::move(records.labels),
                     {{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}});
}

/// The source position for position `at` of a row or column of `size` pixels after a shift; -1 means black.
int seen_at(int at, int moved, int size) {
  const int from = at + moved;
  return from >= 0 && from < size ? from : -1;
}

}  // namespace

CifarRecords parse_cifar(const std::string& content, const std::string& name) {
  if (content.empty() || content.size() % kRecord != 0)
    throw InputError(name + ": " + std::to_string(content.size()) + " bytes; expected a multiple of " +
                     std::to_string(kRecord) + ", a label and 3x32x32 pixels each");
  CifarRecords records;
  records.images.reserve(content.size() / kRecord * kPixels);
  for (std::size_t at = 0; at < content.size(); at += kRecord) {
    const auto label = static_cast<std::uint8_t>(content[at]);
    if (label >= kClasses)
      throw InputError(name + ": label " + std::to_string(label) + " of image " + std::to_string(at / kRecord) +
                       "; expected 0 to " + std::to_string(kClasses - 1));
    records.labels.push_back(label);
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(content.data()) + at + 1;
    records.images.insert(records.images.end(), pixels, pixels + kPixels);
  }
  return records;
}

std::int32_t CifarImages::read(std::int64_t index, const Draw* draw, std::uint8_t* out) const {
  if (draw == nullptr) return Dataset::read(index, nullptr, out);
  const std::uint64_t key = random_bits(draw->seed, kDrawStream, static_cast<std::uint64_t>(draw->epoch));
  const auto uniform = [&](std::uint64_t stream) {
    return random_uniform(key, stream, static_cast<std::uint64_t>(index));
  };
  const auto moved = [&](std::uint64_t stream) {
    return static_cast<int>(uniform(stream) * (2 * kFarthest + 1)) - kFarthest;
  };
  const int down = moved(0), right = moved(1);
  const bool is_mirrored = uniform(2) < 0.5;
  const std::uint8_t* plane = bytes(index);
  const int height = shape().height, width = shape().width;
  for (int c = 0; c < shape().channels; ++c, plane += height * width) {
    for (int y = 0; y < height; ++y) {
      const int row = seen_at(y, down, height);
      for (int x = 0; x < width; ++x) {
        const int column = seen_at(is_mirrored ? width - 1 - x : x, right, width);
        *out++ = row < 0 || column < 0 ? std::uint8_t{0} : plane[row * width + column];
      }
    }
  }
  return label(index);
}

CifarTrainAndTest load_cifar10(const std::string& folder) {
  CifarRecords train, test;
  for (int file = 1; file <= kFiles; ++file) append(train, folder + "/data_batch_" + std::to_string(file) + ".bin");
  append(test, folder + "/test_batch.bin");
  return {images_of("CIFAR-10 train", std::move(train)), images_of("CIFAR-10 test", std::move(test))};
}

}  // namespace lockstep::data
