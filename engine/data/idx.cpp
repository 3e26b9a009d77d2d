#include "engine/data/idx.hpp"

#include <cstdio>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::uint64_t kLimitElements = std::uint64_t{1} << 30;
constexpr std::size_t kLargestIdxBytes = kLimitElements + kMagicBytes + 16;

[[noreturn]] void fail(const std::string& name, const std::string& wrong) {
  throw InputError(name + ": " + wrong);
}

std::uint8_t byte_at(const std::string& content, std::size_t position) {
  return static_cast<std::uint8_t>(content[position]);
}

std::string hex(std::uint8_t byte) {
  char text[3];
  std::snprintf(text, sizeof text, "%02x", byte);
  return text;
}

/// Checks the magic and returns the number of dimensions.
std::size_t read_magic(const std::string& content, const std::string& name) {
  if (content.size() < kMagicBytes) {
    fail(name, std::to_string(content.size()) + " bytes; expected an IDX header, which begins with 4");
  }
  if (byte_at(content, 0) == 0x1f && byte_at(content, 1) == 0x8b) {
    fail(name, "a gzip file; expected the IDX file in it (gunzip it)");
  }
  if (byte_at(content, 0) != 0 || byte_at(content, 1) != 0) {
    fail(name, "begins with bytes " + hex(byte_at(content, 0)) + " " + hex(byte_at(content, 1)) +
                   "; expected 00 00, as every IDX file");
  }
  if (byte_at(content, 2) != kUnsignedByte) {
    fail(name, "element type 0x" + hex(byte_at(content, 2)) + "; expected 0x08, unsigned bytes");
  }
  const std::size_t dimensions = byte_at(content, 3);
  if (dimensions < 1 || dimensions > 4) fail(name, std::to_string(dimensions) + " dimensions; expected 1 to 4");
  return dimensions;
}

std::vector<std::uint32_t> read_dimensions(const std::string& content, const std::string& name, std::size_t count) {
  const std::size_t header = kMagicBytes + 4 * count;
  if (content.size() < header) {
    fail(name, std::to_string(content.size()) + " bytes; expected a header of " + std::to_string(header) + " for " +
                   std::to_string(count) + (count == 1 ? " dimension" : " dimensions"));
  }
  std::vector<std::uint32_t> dimensions;
  for (std::size_t position = kMagicBytes; position < header; position += 4) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | byte_at(content, position + i);
    if (size == 0) fail(name, "dimension " + std::to_string(dimensions.size() + 1) + " is 0; expected at least 1");
    dimensions.push_back(size);
  }
  return dimensions;
}

/// The number of elements. Refuses more than the limit, before the product can overflow.
std::uint64_t count_elements(const std::vector<std::uint32_t>& dimensions, const std::string& name) {
  std::uint64_t elements = 1;
  for (const std::uint32_t size : dimensions) {
    elements *= size;
    if (elements > kLimitElements) {
      fail(name, dimensions_text(dimensions) + " elements; expected at most " + std::to_string(kLimitElements));
    }
  }
  return elements;
}

}  // namespace

std::string dimensions_text(const std::vector<std::uint32_t>& dimensions) {
  std::string text;
  for (const std::uint32_t size : dimensions) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

IdxArray parse_idx(const std::string& content, const std::string& name) {
  IdxArray array;
  array.dimensions = read_dimensions(content, name, read_magic(content, name));
  const std::size_t header = kMagicBytes + 4 * array.dimensions.size();
  const std::uint64_t wanted = header + count_elements(array.dimensions, name);
  if (content.size() != wanted) {
    fail(name, std::string(content.size() < wanted ? "truncated" : "trailing bytes") + ": " +
                   std::to_string(content.size()) + " bytes; expected " + std::to_string(wanted) + " for " +
                   dimensions_text(array.dimensions));
  }
  array.elements.assign(content.begin() + static_cast<std::ptrdiff_t>(header), content.end());
  return array;
}

IdxArray read_idx(const std::string& path) {
  std::string content;
  std::string why;
  if (!try_read_file(path, kLargestIdxBytes, content, why)) fail(path, "cannot be read: " + why);
  return parse_idx(content, path);
}

}  // namespace lockstep::data
