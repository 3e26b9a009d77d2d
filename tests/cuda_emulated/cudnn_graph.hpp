#pragma once
// The content of cuDNN's emulated descriptors, and the convolution that a graph of them describes.
#include <cudnn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace emulated {

using Integers = std::vector<std::int64_t>;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool is_final = false;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> values;
  std::map<cudnnBackendAttributeName_t, std::vector<std::shared_ptr<const Descriptor>>> parts;

  Integers integers(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    Integers result(found->second.size() / sizeof(std::int64_t));
    std::memcpy(result.data(), found->second.data(), result.size() * sizeof(std::int64_t));
    return result;
  }
  template <typename T>
  T value(cudnnBackendAttributeName_t name) const {
    T result{};
    const auto found = values.find(name);
    if (found != values.end()) std::memcpy(&result, found->second.data(), sizeof(T));
    return result;
  }
  /// Returns null if it was not set.
  const Descriptor* part(cudnnBackendAttributeName_t name, std::size_t index = 0) const {
    const auto found = parts.find(name);
    return found == parts.end() || index >= found->second.size() ? nullptr : found->second[index].get();
  }
};

enum class Direction { forward, data, filter };

/// A convolution in the form in which it is computed.
struct Convolution {
  Direction direction = Direction::forward;
  bool accumulate = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Integers x, y, weight;  ///< N, C, H, W of images and outputs; K, C, R, S of weights
  Integers strides, before;
  std::array<std::int64_t, 3> names{};  ///< of x, y, weight
  bool has_sums = false;
  std::array<std::int64_t, 2> sums_names{};  ///< of sums and sums of squares
};

/// Returns an error for anything that cuDNN, or this emulation, would refuse.
cudnnStatus_t read(const Descriptor& operation, Convolution& result);

/// Reads one convolution, and the sums of its outputs if the graph has them.
cudnnStatus_t read_graph(const Descriptor& graph, Convolution& result);

}  // namespace emulated
