#include "engine/data/idx.hpp"

#include "engine/data/mnist.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::data {
namespace {

/// Returns an array in IDX format.
std::string idx_text(const std::vector<std::uint32_t>& dimensions, const std::string& elements) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t size : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFF);
  }
  return text + elements;
}

std::string parse_error(const std::string& content) {
  return error_of([&] { parse_idx(content, "f"); });
}

const Normalisation kPlain{{0.0F}, {1.0F}};

TEST_CASE("An IDX file is read back as written") {
  const TemporaryFolder folder;
  const std::string elements("\x00\x01\xFF\x80 abcdefg", 12);
  const IdxArray array = read_idx(folder.write("x", idx_text({2, 2, 3}, elements)));
  CHECK(array.dimensions == std::vector<std::uint32_t>{2, 2, 3});
  CHECK(std::string(array.elements.begin(), array.elements.end()) == elements);
  CHECK(dimensions_text(array.dimensions) == "2x2x3");
  CHECK(parse_idx(idx_text({300}, std::string(300, 'x')), "f").dimensions[0] == 300);
}

TEST_CASE("A malformed IDX file is refused, saying what was expected") {
  const std::string good = idx_text({2, 3}, "abcdef");
  CHECK(parse_error("") == "f: 0 bytes; expected an IDX header, which begins with 4");
  CHECK(parse_error(good.substr(0, 3)) == "f: 3 bytes; expected an IDX header, which begins with 4");
  CHECK(parse_error("\x1f\x8b\x08\x01rest") == "f: a gzip file; expected the IDX file in it (gunzip it)");
  CHECK(parse_error("{\"a\": 1}") == "f: begins with bytes 7b 22; expected 00 00, as every IDX file");
  CHECK(parse_error(std::string("\0\0\x0d\x01", 4)) == "f: element type 0x0d; expected 0x08, unsigned bytes");
  CHECK(parse_error(std::string("\0\0\x08\0", 4)) == "f: 0 dimensions; expected 1 to 4");
  CHECK(parse_error(std::string("\0\0\x08\x05", 4)) == "f: 5 dimensions; expected 1 to 4");
  CHECK(parse_error(good.substr(0, 11)) == "f: 11 bytes; expected a header of 12 for 2 dimensions");
  CHECK(parse_error(idx_text({7}, "").substr(0, 6)) == "f: 6 bytes; expected a header of 8 for 1 dimension");
  CHECK(parse_error(idx_text({2, 0}, "")) == "f: dimension 2 is 0; expected at least 1");
  CHECK(parse_error(good.substr(0, 17)) == "f: truncated: 17 bytes; expected 18 for 2x3");
  CHECK(parse_error(good + "g") == "f: trailing bytes: 19 bytes; expected 18 for 2x3");
  CHECK(parse_error(idx_text({4294967295U, 4294967295U, 4294967295U}, "")) ==
        "f: 4294967295x4294967295x4294967295 elements; expected at most 1073741824");
  CHECK(error_of([] { read_idx("no/such/file"); }) == "no/such/file: cannot be read: No such file or directory");
}

TEST_CASE("Images and labels that do not belong together are refused") {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", idx_text({2, 1, 2}, "abcd"));
  const auto error = [&](const std::string& with_images, const std::string& labels) {
    const std::string path = folder.write("labels", labels);
    std::string text = error_of([&] { load_idx_pair("set", with_images, path, 3, kPlain); });
    for (std::size_t at; (at = text.find(folder.path(""))) != std::string::npos;)
      text.erase(at, folder.path("").size());
    return text;
  };
  CHECK(error(images, idx_text({3}, std::string(3, '\0'))) == "labels: 3 labels; expected 2, the images of images");
  CHECK(error(images, idx_text({2}, "\x02\x03")) == "set: label 3 of image 1; expected 0 to 2");
  CHECK(error(images, idx_text({2, 1}, "\x02\x02")) == "labels: 2x1 (2-dimensional); expected one label an image");
  CHECK(error(folder.write("flat", idx_text({2}, "ab")), idx_text({2}, "\x02\x02")) ==
        "flat: 2 (1-dimensional); expected images x height x width");
}

TEST_CASE("MNIST that is missing or of other sizes is refused, saying how to fetch it") {
  const TemporaryFolder folder;
  const std::string path = folder.path("train-images-idx3-ubyte");
  CHECK(error_of([&] { load_mnist(folder.path("")); }) ==
        folder.path("/train-images-idx3-ubyte") + ": no such file; run ./bootstrap data");
  folder.write("d/train-images-idx3-ubyte", idx_text({2, 1, 2}, "abcd"));
  CHECK(error_of([&] { load_fashion_mnist(folder.path("d")); }) ==
        folder.path("d/train-labels-idx1-ubyte") + ": no such file; run ./bootstrap data");
  folder.write("d/train-labels-idx1-ubyte", idx_text({2}, "\x01\x02"));
  CHECK(error_of([&] { load_mnist(folder.path("d")); }) ==
        folder.path("d/train-images-idx3-ubyte") + ": 2x1x2; expected 60000x28x28");
}

}  // namespace
}  // namespace lockstep::data
