#pragma once
// The generator of engine/base/random.hpp for the device. It gives the same bits, which a test checks.
#include <cstdint>

#include "engine/cuda/segments.hpp"

namespace lockstep::cuda {

LOCKSTEP_HOST_DEVICE inline std::uint64_t split_mix_output(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kSplitMixIncrement = 0x9E3779B97F4A7C15U;

/// The start of the generator (seed, stream). Each thread computes it once, because it does not depend on the index.
LOCKSTEP_HOST_DEVICE inline std::uint64_t device_random_stream(std::uint64_t seed, std::uint64_t stream) {
  const std::uint64_t start = split_mix_output(seed + kSplitMixIncrement);
  return split_mix_output(start + kSplitMixIncrement * (stream + 1));
}

LOCKSTEP_HOST_DEVICE inline std::uint64_t device_random_of(std::uint64_t stream_start, std::uint64_t index) {
  return split_mix_output(stream_start + kSplitMixIncrement * (index + 1));
}

/// Equal to random_bits(seed, stream, index).
LOCKSTEP_HOST_DEVICE inline std::uint64_t device_random_bits(std::uint64_t seed, std::uint64_t stream,
                                                             std::uint64_t index) {
  return device_random_of(device_random_stream(seed, stream), index);
}

/// The start of the random words that decide which elements of one image dropout keeps; see engine/host/activation.cpp.
LOCKSTEP_HOST_DEVICE inline std::uint64_t dropout_words(std::uint64_t seed, int layer, std::uint64_t step, int image) {
  return device_random_stream(device_random_bits(seed, static_cast<std::uint64_t>(layer), step),
                              static_cast<std::uint64_t>(image));
}
/// Whether dropout keeps element e (channels first) of that image.
LOCKSTEP_HOST_DEVICE inline bool dropout_keeps(std::uint64_t words, std::uint64_t e) {
  return (device_random_of(words, e / 64) >> (e % 64) & 1U) != 0;
}

}  // namespace lockstep::cuda
