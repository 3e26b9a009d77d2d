#pragma once
// Reads the IDX format of the MNIST files. A file has two zero bytes, the element type (0x08: unsigned byte), the
// number of dimensions, each dimension as a big-endian 32-bit number, and the elements. The last dimension varies
// fastest.
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

/// Reads an array of unsigned bytes with 1 to 4 dimensions, at most 1 GiB. Throws InputError, with the file's name and
/// the expected content, if the file is unreadable, gzipped, truncated or too long. Also throws for another magic
/// number or element type, and for an empty dimension.
IdxArray read_idx(const std::string& path);
/// Parses a file's content; errors name it `name`.
IdxArray parse_idx(const std::string& content, const std::string& name);

}  // namespace lockstep::data
