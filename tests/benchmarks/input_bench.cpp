// bench_input [SECONDS] measures how fast this machine prepares images of 3x224x224 for training. Sources are a data
// set in memory and synthetic images, each as floats, which the host normalises, and as bytes if the source has them
// (Pixels in engine/data/augment.hpp). Each is also measured with augmentation.
//
// Prints one line of JSON each: images per second, and images per second of processor time, which does not depend on
// other load. The last line is the rate at which one thread copies. With libjpeg-turbo there is also "decoded": JPEG
// files of 500x375, the average size in ImageNet, cropped to 224x224.
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/random.hpp"
#include "engine/data/dataset.hpp"
#include "engine/data/synthetic.hpp"
#include "engine/train/batch_reader.hpp"
#ifdef LOCKSTEP_WITH_JPEG
#include "engine/data/image_folder.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/data_room/jpeg_writer.hpp"
#endif

using namespace lockstep;

namespace {

constexpr data::ImageShape kShape{3, 224, 224};
constexpr int kImages = 512, kBatch = 64;
[[maybe_unused]] constexpr int kPhotographs = 64;

data::Dataset random_images() {
  std::vector<std::uint8_t> images(static_cast<std::size_t>(kImages * kShape.elements()));
  for (std::size_t i = 0; i < images.size(); ++i)
    images[i] = static_cast<std::uint8_t>(random_bits(1, 0, i / 8) >> (i % 8 * 8));
  return data::Dataset("random bytes", kShape, 10, std::move(images), std::vector<std::uint8_t>(kImages, 1),
                       {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}});
}

/// Returns the processor time of all threads, in user and system mode.
double processor_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Rates {
  double per_s, per_processor_s;
};

template <typename Work>
Rates rates_of(double seconds, int images_of_one, const Work& work) {
  work();
  const double began_s = steady_now_s(), began_processor_s = processor_s();
  std::int64_t images = 0;
  while (steady_now_s() < began_s + seconds) {
    work();
    images += images_of_one;
  }
  const double count = static_cast<double>(images);
  return {count / (steady_now_s() - began_s), count / (processor_s() - began_processor_s)};
}

Rates rates_of_reader(const data::ImageSource& source, int threads, data::Pixels pixels, bool is_augmented,
                      double seconds) {
  const data::BatchOrder order(source.count(), 1);
  std::optional<data::AugmentationRange> range;
  if (is_augmented) range.emplace();
  train::BatchReader reader(source, order, kBatch, range, 1, threads, pixels);
  std::vector<data::Batch> batches(1);
  std::int64_t position = 0;
  return rates_of(seconds, kBatch, [&] {
    reader.read(position, batches);
    position += kBatch;
  });
}

void print(const data::ImageSource& source, int threads, data::Pixels pixels, bool is_augmented, double seconds) {
  const Rates rates = rates_of_reader(source, threads, pixels, is_augmented, seconds);
  std::printf(
      "{\"source\": \"%s\", \"threads\": %d, \"pixels\": \"%s\", \"augmented\": %s, \"images_per_s\": %.0f, "
      "\"images_per_processor_s\": %.0f}\n",
      source.name().c_str(), threads, pixels == data::Pixels::bytes ? "bytes" : "floats",
      is_augmented ? "true" : "false", rates.per_s, rates.per_processor_s);
  std::fflush(stdout);
}

#ifdef LOCKSTEP_WITH_JPEG
/// Draws waves with some noise, so that the file is as large as a photograph.
std::string photograph(int number) {
  return data::jpeg_file(
      500, 375,
      [&](int x, int y) {
        std::vector<int> values;
        for (int c = 0; c < 3; ++c) {
          const auto at = static_cast<std::uint64_t>((y * 500 + x) * 3 + c);
          const double wave = std::sin(0.02 * (number + 1) * x + c) + std::sin(0.03 * y + 0.01 * x * (c + 1));
          values.push_back(static_cast<int>(128 + 40 * wave) + static_cast<int>(random_bits(1, 0, at) % 24) - 12);
        }
        return values;
      },
      data::JpegKind::colour, 92);
}

void print_photographs(const std::vector<int>& threads, double seconds) {
  const TemporaryFolder folder;
  std::int64_t bytes = 0;
  for (int i = 0; i < kPhotographs; ++i) {
    const std::string file = photograph(i);
    bytes += static_cast<std::int64_t>(file.size());
    folder.write("train/one/" + std::to_string(i) + ".jpg", file);
  }
  const data::ImageFolder source("decoded, " + std::to_string(bytes / kPhotographs / 1000) + " kB each",
                                 data::list_images(folder.path("train")), kShape, data::BadImages::refuse);
  for (const int count : threads)
    for (const bool is_augmented : {false, true}) print(source, count, data::Pixels::bytes, is_augmented, seconds);
}
#endif

/// Emulates a thread that enqueues passes and must also copy a batch to memory that the GPU reads.
void print_copies(double seconds) {
  for (const std::size_t each : {sizeof(float), sizeof(std::uint8_t)}) {
    const std::vector<char> from(static_cast<std::size_t>(kBatch * kShape.elements()) * each, 1);
    std::vector<char> to(from.size());
    const Rates rates = rates_of(seconds, kBatch, [&] { std::memcpy(to.data(), from.data(), from.size()); });
    std::printf("{\"copied\": \"%s\", \"images_per_s\": %.0f, \"images_per_processor_s\": %.0f}\n",
                each == 1 ? "bytes" : "floats", rates.per_s, rates.per_processor_s);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const data::Dataset in_memory = random_images();
  const data::SyntheticImages synthetic = data::synthetic_images(kShape, 1000, 1281167, 1);
  const int all = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<int> counts{1};
  if (all > 1) counts.push_back(all);
  for (const data::ImageSource* source :
       {static_cast<const data::ImageSource*>(&in_memory), static_cast<const data::ImageSource*>(&synthetic)})
    for (const int threads : counts)
      for (const bool is_augmented : {false, true})
        for (const data::Pixels pixels : {data::Pixels::floats, data::Pixels::bytes}) {
          if (pixels == data::Pixels::bytes && source->byte_values().empty()) continue;
          print(*source, threads, pixels, is_augmented, seconds);
        }
#ifdef LOCKSTEP_WITH_JPEG
  print_photographs(counts, seconds);
#endif
  print_copies(seconds);
  return 0;
}
