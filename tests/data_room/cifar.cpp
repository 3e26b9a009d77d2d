#include "engine/data/cifar.hpp"

#include <algorithm>
#include <set>

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/data_room/image_bytes.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t kPixels = 3072;

/// Makes distinct pixels, none of them black.
std::string record(int label, int first) {
  std::string text(1, static_cast<char>(label));
  for (std::size_t i = 0; i < kPixels; ++i)
    text += static_cast<char>(1 + (static_cast<std::size_t>(first) + i * 7) % 255);
  return text;
}

CifarImages some_images(int count) {
  CifarRecords all;
  for (int i = 0; i < count; ++i) {
    const CifarRecords one = parse_cifar(record(i % 10, i), "f");
    all.images.insert(all.images.end(), one.images.begin(), one.images.end());
    all.labels.insert(all.labels.end(), one.labels.begin(), one.labels.end());
  }
  return CifarImages("some", {3, 32, 32}, 10, all.images, all.labels, {{0, 0, 0}, {1, 1, 1}});
}

/// Returns `image` shifted and mirrored, by definition.
std::vector<std::uint8_t> moved(const std::vector<std::uint8_t>& image, int down, int right, bool is_mirrored) {
  std::vector<std::uint8_t> result;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) {
        const int row = y + down, column = (is_mirrored ? 31 - x : x) + right;
        const bool is_seen = row >= 0 && row < 32 && column >= 0 && column < 32;
        result.push_back(is_seen ? image[static_cast<std::size_t>((c * 32 + row) * 32 + column)] : std::uint8_t{0});
      }
  return result;
}

TEST_CASE("The six files of CIFAR-10 are read in their order") {
  const TemporaryFolder folder;
  for (int file = 1; file <= 5; ++file)
    folder.write("data_batch_" + std::to_string(file) + ".bin", record(file, 10 * file) + record(9, file));
  folder.write("test_batch.bin", record(3, 77));
  const CifarTrainAndTest both = load_cifar10(folder.path("."));
  REQUIRE(both.train.count() == 10);
  REQUIRE(both.test.count() == 1);
  CHECK(both.train.shape() == ImageShape{3, 32, 32});
  CHECK(both.train.label(4) == 3);
  CHECK(both.train.label(5) == 9);
  CHECK(both.test.label(0) == 3);
  const std::string third = record(3, 30);
  CHECK(image_bytes(both.train, 4) == std::vector<std::uint8_t>(third.begin() + 1, third.end()));
  // (byte / 255 - mean) / deviation, of the first pixel of green
  std::vector<float> floats(kPixels);
  both.train.image(4, floats.data());
  CHECK(floats[1024] == Approx((static_cast<std::uint8_t>(third[1025]) / 255.0 - 0.4465 - 0.0357) / 0.2435));
}

TEST_CASE("A file that is not CIFAR-10's is refused by name") {
  const auto error = [](const std::string& content) { return error_of([&] { parse_cifar(content, "f"); }); };
  CHECK(error("") == "f: 0 bytes; expected a multiple of 3073, a label and 3x32x32 pixels each");
  CHECK(error(record(1, 1) + "x") == "f: 3074 bytes; expected a multiple of 3073, a label and 3x32x32 pixels each");
  CHECK(error(record(1, 1) + record(10, 1)) == "f: label 10 of image 1; expected 0 to 9");
  const TemporaryFolder folder;
  folder.write("data_batch_1.bin", record(1, 1));
  CHECK_THAT(error_of([&] { load_cifar10(folder.path("")); }), Contains("data_batch_2.bin: cannot be read"));
}

TEST_CASE("An augmented image of CIFAR-10 is moved by at most four pixels, and mirrored half the time") {
  const CifarImages images = some_images(400);
  std::set<std::pair<int, int>> places;
  int mirrored = 0;
  for (std::int64_t index = 0; index < images.count(); ++index) {
    const Draw draw{5, 2};
    const std::vector<std::uint8_t> drawn = image_bytes(images, index, &draw), original = image_bytes(images, index);
    int found = 0;
    for (int down = -4; down <= 4; ++down)
      for (int right = -4; right <= 4; ++right)
        for (const bool is_mirrored : {false, true})
          if (drawn == moved(original, down, right, is_mirrored)) {
            ++found;
            places.insert({down, right});
            mirrored += is_mirrored ? 1 : 0;
          }
    CHECK(found == 1);
  }
  CHECK(places.size() == 81);  // each has probability 1 - (80/81)^400 = 0.993: 0.6 of 81 are missing on average
  CHECK(mirrored > 160);       // 200, deviation 10
  CHECK(mirrored < 240);
}

TEST_CASE("What is drawn of an image follows from seed, epoch and number") {
  const CifarImages images = some_images(20);
  const auto all = [&](const Draw& draw) {
    std::vector<std::vector<std::uint8_t>> result;
    for (std::int64_t i = 0; i < images.count(); ++i) result.push_back(image_bytes(images, i, &draw));
    return result;
  };
  CHECK(all({1, 0}) == all({1, 0}));
  CHECK(all({1, 0}) != all({1, 1}));
  CHECK(all({1, 0}) != all({2, 0}));
}

}  // namespace
}  // namespace lockstep::data
