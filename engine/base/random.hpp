#pragma once
// Random numbers computed from a key, not drawn in sequence, so that the order of draws does not matter. The value for
// (seed, stream, index) is the same in every fidelity, thread count and platform. Mixing function: SplitMix64 (Steele,
// Lea & Flood, OOPSLA 2014).
#include <cstdint>

namespace lockstep {

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Uniform in the open interval (0, 1).
double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Standard normal, by inversion.
double random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace lockstep
