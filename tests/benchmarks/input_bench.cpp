// bench_input [SECONDS]: images per second that threads of this machine prepare for training, 3x224x224 bytes as a data set
// in memory has them: as floats, normalised by the host, and as bytes, which a GPU normalises (Pixels in
// engine/data/augment.hpp); both also augmented. A line of JSON for each.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "engine/base/random.hpp"
#include "engine/data/dataset.hpp"
#include "engine/train/batch_reader.hpp"

using namespace lockstep;

namespace {

constexpr data::ImageShape kShape{3, 224, 224};
constexpr int kImages = 512, kBatch = 64;

data::Dataset random_images() {
  std::vector<std::uint8_t> images(static_cast<std::size_t>(kImages * kShape.elements()));
  for (std::size_t i = 0; i < images.size(); ++i)
    images[i] = static_cast<std::uint8_t>(random_bits(1, 0, i / 8) >> (i % 8 * 8));
  return data::Dataset("random bytes", kShape, 10, std::move(images), std::vector<std::uint8_t>(kImages, 1),
                       {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}});
}

double images_per_s(const data::ImageSource& source, int threads, data::Pixels pixels, bool is_augmented,
                    double seconds) {
  const data::BatchOrder order(kImages, 1);
  std::optional<data::AugmentationRange> range;
  if (is_augmented) range.emplace();
  train::BatchReader reader(source, order, kBatch, range, 1, threads, pixels);
  std::vector<data::Batch> batches(1);
  reader.read(0, batches);
  const auto now_s = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double began_s = now_s();
  std::int64_t images = 0;
  while (now_s() < began_s + seconds) {
    reader.read(images, batches);
    images += kBatch;
  }
  return static_cast<double>(images) / (now_s() - began_s);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const data::Dataset source = random_images();
  const int all = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<int> counts{1};
  if (all > 1) counts.push_back(all);
  for (const int threads : counts)
    for (const bool is_augmented : {false, true})
      for (const data::Pixels pixels : {data::Pixels::floats, data::Pixels::bytes})
        std::printf("{\"threads\": %d, \"pixels\": \"%s\", \"augmented\": %s, \"images_per_s\": %.0f}\n", threads,
                    pixels == data::Pixels::bytes ? "bytes" : "floats", is_augmented ? "true" : "false",
                    images_per_s(source, threads, pixels, is_augmented, seconds));
  return 0;
}
