#include "sim/collective/one_bit.hpp"

#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {
namespace {

constexpr double kElementBytes = 4;

}  // namespace

std::int64_t one_bit_bytes(std::int64_t elements, std::int64_t columns) {
  return chunk_bytes(elements, 8) + 8 * columns;
}

double quantise_memory_bytes(std::int64_t elements) {
  return (5 * kElementBytes + 1.0 / 8) * static_cast<double>(elements);
}

double serve_quantised_memory_bytes(std::int64_t share, int pushes) {
  return 2 * kElementBytes * pushes * static_cast<double>(share) + quantise_memory_bytes(share);
}

double dequantise_memory_bytes(std::int64_t elements) {
  return (kElementBytes + 1.0 / 8) * static_cast<double>(elements);
}

}  // namespace lockstep::sim::collective
