#pragma once
// Returns an image as a source writes it into a batch.
#include <cstdint>
#include <vector>

#include "engine/data/dataset.hpp"

namespace lockstep::data {

using Bytes = std::vector<std::uint8_t>;

inline Bytes image_bytes(const ImageSource& source, std::int64_t index, const Draw* draw = nullptr) {
  Bytes bytes(static_cast<std::size_t>(source.shape().elements()));
  source.read(index, draw, bytes.data());
  return bytes;
}

}  // namespace lockstep::data
