#include "engine/base/random.hpp"

#include "engine/base/statistics.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // SplitMix64's increment: 2^64 / golden ratio, odd

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Output number `index` of the SplitMix64 generator that starts at `state`.
std::uint64_t split_mix(std::uint64_t state, std::uint64_t index) {
  return mixed(state + kGolden * (index + 1));
}

}  // namespace

// Each (seed, stream) is a SplitMix64 generator of its own, whose start is an output of the generator `seed`.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return split_mix(split_mix(mixed(seed + kGolden), stream), index);
}

double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  // 52 bits and a half: with 53 the largest value would round to 1.
  return (static_cast<double>(random_bits(seed, stream, index) >> 12) + 0.5) * 0x1p-52;
}

double random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return normal_quantile(random_uniform(seed, stream, index));
}

}  // namespace lockstep
