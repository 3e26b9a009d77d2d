// Folders of JPEG images, which the test makes.
#include "engine/data/image_folder.hpp"

#ifdef LOCKSTEP_WITH_JPEG
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/data_room/image_bytes.hpp"
#include "tests/data_room/jpeg_writer.hpp"

namespace lockstep::data {
namespace {

Bytes decoded(const std::string& file, const Region& region, int height, int width, bool is_mirrored = false) {
  Bytes planes(static_cast<std::size_t>(3 * height * width));
  JpegImage image(file, "f");
  image.decode(region, height, width, is_mirrored, planes.data());
  return planes;
}

/// Returns the largest distance of a plane's values from one value.
int farthest(const Bytes& planes, int plane, int value) {
  const std::size_t size = planes.size() / 3;
  int most = 0;
  for (std::size_t i = size * static_cast<std::size_t>(plane); i < size * static_cast<std::size_t>(plane + 1); ++i)
    most = std::max(most, std::abs(int{planes[i]} - value));
  return most;
}

/// Values increase from left to right from 20 to 220, and from top to bottom from 40 to 240.
std::string slopes(int width, int height) {
  return jpeg_file(width, height, [&](int x, int y) {
    const double across = (x + 0.5) / width, down = (y + 0.5) / height;
    return std::vector<int>{static_cast<int>(20 + 200 * across), static_cast<int>(40 + 200 * down), 128};
  });
}

/// Writes two classes of a few images each.
void write_classes(const TemporaryFolder& folder) {
  folder.write("train/zebra/a.jpg", plain_jpeg(20, 30, 200, 0, 0));
  folder.write("train/ant/2.JPEG", plain_jpeg(40, 30, 0, 200, 0));
  folder.write("train/ant/1.jpeg", plain_jpeg(33, 17, 0, 0, 200));
}

}  // namespace

TEST_CASE("A plain image stays plain, whatever is cut out of it and however large it becomes") {
  const std::string file = plain_jpeg(300, 200, 250, 120, 10);
  for (const Region& region : {Region{0, 0, 300, 200}, {10, 20, 100, 100}, {299, 199, 1, 1}})
    for (const int size : {1, 8, 25, 224, 500}) {
      const Bytes planes = decoded(file, region, size, size + 3);
      CHECK(farthest(planes, 0, 250) <= 2);
      CHECK(farthest(planes, 1, 120) <= 2);
      CHECK(farthest(planes, 2, 10) <= 2);
    }
}

TEST_CASE("Images of other colour spaces become red, green and blue, and progressive ones are read too") {
  const Region all{0, 0, 40, 40};
  const Bytes grey = decoded(jpeg_file(
                                 40, 40, [](int, int) { return std::vector<int>{77}; }, JpegKind::grey),
                             all, 10, 10);
  for (const int plane : {0, 1, 2}) CHECK(farthest(grey, plane, 77) <= 1);
  // Written with Adobe's mark, so the values are what is not printed: red 200 * 128 / 255.
  const Bytes cmyk = decoded(jpeg_file(
                                 40, 40,
                                 [](int, int) {
                                   return std::vector<int>{200, 100, 0, 128};
                                 },
                                 JpegKind::cmyk),
                             all, 10, 10);
  CHECK(farthest(cmyk, 0, 100) <= 2);
  CHECK(farthest(cmyk, 1, 50) <= 2);
  CHECK(farthest(cmyk, 2, 0) <= 2);
  const auto values = [](int x, int y) { return std::vector<int>{3 * x, 3 * y, 60}; };
  CHECK(decoded(jpeg_file(40, 40, values, JpegKind::progressive), all, 40, 40) ==
        decoded(jpeg_file(40, 40, values), all, 40, 40));
}

TEST_CASE("A cut is what a slope has there, at every size, and mirrored it is the same turned round") {
  const std::string file = slopes(400, 320);
  for (const Region& region : {Region{0, 0, 400, 320}, {100, 40, 200, 240}, {7, 5, 31, 29}})
    for (const int size : {6, 20, 64, 160}) {
      INFO(region.width << " x " << region.height << " to " << size);
      const Bytes planes = decoded(file, region, size, size);
      double worst = 0;
      for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
          const auto at = static_cast<std::size_t>(y * size + x);
          const double across = (region.x + (x + 0.5) * region.width / size) / 400;
          const double down = (region.y + (y + 0.5) * region.height / size) / 320;
          worst = std::max(worst, std::abs(planes[at] - (20 + 200 * across)));
          worst = std::max(worst, std::abs(planes[static_cast<std::size_t>(size * size) + at] - (40 + 200 * down)));
        }
      CHECK(worst < 3);  // rounding of the file's values, of the transform, and of the interpolation's weights
      Bytes mirrored = decoded(file, region, size, size, true);
      for (auto row = mirrored.begin(); row != mirrored.end(); row += size) std::reverse(row, row + size);
      CHECK(mirrored == planes);
    }
}

TEST_CASE("An image that is torn, too large or none at all is refused by its name") {
  const auto error = [](const std::string& file) {
    return error_of([&] {
      JpegImage image(file, "f.jpg");
      Bytes planes(300);
      image.decode({0, 0, image.width(), image.height()}, 10, 10, false, planes.data());
    });
  };
  const std::string good = slopes(90, 70);
  CHECK(error(good) == "");
  CHECK(error("") == "f.jpg: Empty input file");
  CHECK(error("GIF89a") == "f.jpg: Not a JPEG file: starts with 0x47 0x49");
  CHECK_THAT(error(good.substr(0, good.size() / 2)), Contains("f.jpg: ") && Contains("end"));
  for (const double share : {0.3, 0.5, 0.7}) {  // cut off, then followed by bytes that are no code
    std::string torn = good;
    const auto at = static_cast<std::size_t>(static_cast<double>(good.size()) * share);
    torn.replace(at, 4, std::string("\xFF\xD8\xFF\xD9", 4));
    CHECK_THAT(error(torn), Contains("f.jpg: "));
  }
  std::string huge = good;
  const std::size_t size_at = huge.find("\xFF\xC0") + 5;  // height, then width
  huge.replace(size_at, 4, "\xFF\xDC\xFF\xDC");
  CHECK(error(huge) == "f.jpg: 65500x65500 pixels; allowed: at most 67108864");
}

TEST_CASE("Random resized crops lie in the image, of 8 to 100 % of it, 3:4 to 4:3") {
  for (const auto& [width, height] : {std::pair{500, 375}, {375, 500}, {224, 224}, {64, 48}}) {
    double least_area = 1, most_area = 0, sum_area = 0;
    int mirrored = 0;
    constexpr int kDraws = 2000;
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const Crop crop = draw_crop(width, height, {3, 1}, i);
      const Region& r = crop.region;
      REQUIRE((r.x >= 0 && r.y >= 0 && r.width >= 1 && r.height >= 1));
      REQUIRE((r.x + r.width <= width && r.y + r.height <= height));
      const double area = double{1} * r.width * r.height / (double{1} * width * height);
      least_area = std::min(least_area, area);
      most_area = std::max(most_area, area);
      sum_area += area;
      // Sides are whole numbers, so each may deviate by half a pixel.
      CHECK((r.width - 0.5) / (r.height + 0.5) <= 4.0 / 3);
      CHECK((r.width + 0.5) / (r.height - 0.5) >= 3.0 / 4);
      mirrored += crop.is_mirrored ? 1 : 0;
    }
    CHECK(least_area > 0.07);
    CHECK(least_area < 0.1);
    CHECK(most_area > 0.9);
    CHECK(sum_area / kDraws > 0.4);  // 0.54 evenly; the largest fit less often
    CHECK(sum_area / kDraws < 0.56);
    CHECK(std::abs(mirrored - kDraws / 2) < 100);  // deviation 22
  }
  // So narrow that no draw fits: the crop is its middle, with its full width and 4/3 of it as height.
  const Crop narrow = draw_crop(12, 1000, {3, 1}, 7);
  CHECK(narrow.region.width == 12);
  CHECK(narrow.region.height == 16);
  CHECK(narrow.region.y == 492);
}

TEST_CASE("Tested is the middle of an image, 224 of 256 pixels of its shorter side") {
  const auto same = [](const Region& a, const Region& b) {
    return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
  };
  CHECK(same(whole_crop(256, 256, 224, 224), {16, 16, 224, 224}));
  CHECK(same(whole_crop(512, 256, 224, 224), {144, 16, 224, 224}));
  CHECK(same(whole_crop(512, 1024, 32, 32), {32, 288, 448, 448}));
  CHECK(same(whole_crop(800, 400, 20, 40), {50, 25, 700, 350}));
}

TEST_CASE("Classes are numbered by their folders' names, and images come in the order of theirs") {
  const TemporaryFolder folder;
  write_classes(folder);
  folder.write("train/.hidden", "");
  folder.write("val/zebra/x.jpg", plain_jpeg(20, 20, 1, 2, 3));
  const FolderListing train = list_images(folder.path("train"));
  const FolderListing val = list_images(folder.path("val"), &train.classes);
  CHECK(train.classes == std::vector<std::string>{"ant", "zebra"});
  const ImageFolder images("train", train, {3, 16, 16}, BadImages::refuse);
  REQUIRE(images.count() == 3);
  CHECK(images.classes() == 2);
  CHECK(images.label(0) == 0);
  CHECK(images.label(2) == 1);
  CHECK(farthest(image_bytes(images, 0), 2, 200) <= 2);  // 1.jpeg
  CHECK(farthest(image_bytes(images, 1), 1, 200) <= 2);  // 2.JPEG
  CHECK(farthest(image_bytes(images, 2), 0, 200) <= 2);
  CHECK(ImageFolder("val", val, {3, 16, 16}, BadImages::refuse).label(0) == 1);
  std::vector<float> floats(768);
  images.image(2, floats.data());
  CHECK(floats[0] == Approx((200 / 255.0 - 0.485) / 0.229).margin(0.05));

  const std::string digest = digest_of(train);
  folder.write("train/zebra/a.jpg", plain_jpeg(200, 30, 200, 0, 0));
  CHECK(digest_of(list_images(folder.path("train"))) != digest);
}

TEST_CASE("What is drawn of a file follows from seed, epoch and number") {
  const TemporaryFolder folder;
  folder.write("train/a/1.jpg", slopes(90, 70));
  folder.write("train/b/1.jpg", slopes(70, 90));
  const ImageFolder images("train", list_images(folder.path("train")), {3, 24, 20}, BadImages::refuse);
  CHECK(images.is_drawn());
  const Draw first{1, 0}, second{1, 1}, other{2, 0};
  CHECK(image_bytes(images, 0, &first) == image_bytes(images, 0, &first));
  CHECK(image_bytes(images, 0, &first) != image_bytes(images, 0, &second));
  CHECK(image_bytes(images, 0, &first) != image_bytes(images, 0, &other));
  CHECK(image_bytes(images, 0, &first) != image_bytes(images, 1, &first));
  CHECK(image_bytes(images, 0) == image_bytes(images, 0));
}

TEST_CASE("Folders that are not of classes with JPEG images are refused, each by what is wrong with it") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name) { return error_of([&] { list_images(folder.path(name)); }); };
  CHECK_THAT(error("none"), Contains("none: cannot be read: No such file"));
  folder.write("empty/.x", "");
  CHECK_THAT(error("empty"), Contains("empty: no class; allowed: a folder for each"));
  folder.write("hollow/a/.x", "");
  CHECK_THAT(error("hollow"), Contains("hollow/a: no image; allowed: a class with .jpg or .jpeg files"));
  folder.write("mixed/a/1.jpg", "");
  folder.write("mixed/a/2.png", "");
  CHECK_THAT(error("mixed"), Contains("mixed/a/2.png: is no JPEG image"));
  folder.write("flat/1.jpg", "");
  CHECK_THAT(error("flat"), Contains("flat/1.jpg: is no folder"));
  write_classes(folder);
  const std::vector<std::string> classes{"ant", "bee"};
  CHECK_THAT(error_of([&] { list_images(folder.path("train"), &classes); }),
             Contains("train/zebra: no class of the training images"));
  CHECK_THAT(error_of([&] {
               ImageFolder("train", list_images(folder.path("train")), {1, 28, 28}, BadImages::refuse);
             }),
             Contains("train: images of 1 channels; allowed: 3"));
}

TEST_CASE("A torn image is an error that names it, or the next one stands in for it with its own label") {
  const TemporaryFolder folder;
  write_classes(folder);
  const std::string torn = folder.write("train/ant/2.JPEG", slopes(90, 70).substr(0, 900));
  const FolderListing listing = list_images(folder.path("train"));
  const ImageFolder strict("train", listing, {3, 16, 16}, BadImages::refuse);
  CHECK(image_bytes(strict, 0).size() == 768);
  const std::string error = error_of([&] { image_bytes(strict, 1); });
  CHECK_THAT(error, Contains(torn + ": ") && Contains("or --bad-images skip"));

  const ImageFolder lenient("train", listing, {3, 16, 16}, BadImages::skip);
  CHECK(lenient.passed_over().empty());
  Bytes bytes(768);
  CHECK(lenient.read(1, nullptr, bytes.data()) == 1);
  CHECK(bytes == image_bytes(lenient, 2));
  CHECK(lenient.read(1, nullptr, bytes.data()) == 1);
  REQUIRE(lenient.passed_over().size() == 1);
  CHECK_THAT(lenient.passed_over()[0], Contains(torn + ": "));

  for (const char* file : {"train/zebra/a.jpg", "train/ant/1.jpeg"}) folder.write(file, "none");
  CHECK(error_of([&] { image_bytes(lenient, 1); }) == "train: none of its images can be decoded");
}

}  // namespace lockstep::data
#endif
