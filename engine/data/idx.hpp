#pragma once
// The IDX format of the MNIST files: two zero bytes, the element type (0x08: unsigned byte), the number of dimensions,
// each dimension as a big-endian 32-bit number, then the elements, the last dimension running fastest.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::vector<std::uint8_t> elements;
};

/// "60000x28x28"
std::string dimensions_text(const std::vector<std::uint32_t>& dimensions);

/// Reads an array of 1 to 4 dimensions of unsigned bytes, at most 1 GiB. Throws InputError, naming the file and what
/// was expected: unreadable, gzipped, another magic or element type, an empty dimension, truncated or trailing bytes.
IdxArray read_idx(const std::string& path);
/// The same from a file's content; `name` stands for it in errors.
IdxArray parse_idx(const std::string& content, const std::string& name);

}  // namespace lockstep::data
