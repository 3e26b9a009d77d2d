#pragma once
// How a replica of a given precision stores activations and packed weights.
#include <cstddef>
#include <cstdint>

#include "engine/device/precision.hpp"

namespace lockstep::cuda {

enum class Element { f32, f16, bf16 };

inline Element element_of(device::Precision precision) {
  if (precision == device::Precision::fp16) return Element::f16;
  if (precision == device::Precision::bf16) return Element::bf16;
  return Element::f32;
}

inline std::int64_t element_bytes(Element element) {
  return element == Element::f32 ? 4 : 2;
}

/// Activations of a batch, images x height x width x channels (NHWC). `channels` is the stored number. For the input it
/// may exceed the model's; the additional channels are zero.
struct Tensor {
  void* data = nullptr;
  int images = 0;
  int height = 0;
  int width = 0;
  int channels = 0;

  std::int64_t pixels() const { return std::int64_t{height} * width; }
  std::int64_t rows() const { return images * pixels(); }
  std::int64_t elements() const { return rows() * channels; }
};

/// Every tensor starts at a multiple of this many bytes, which is the alignment that cuBLASLt assumes by default.
constexpr std::int64_t kAlignmentBytes = 256;
inline std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

}  // namespace lockstep::cuda
