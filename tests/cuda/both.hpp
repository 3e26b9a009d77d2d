#pragma once
// Runs the same work with the vector operations of host and GPU, and compares the results.
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/cuda/vector_ops.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "tests/catch.hpp"

namespace lockstep::cuda {

using Floats = std::vector<float>;

/// The kernels round after every operation, as the host does. A host build with fused multiply-adds rounds less often.
#ifdef __FMA__
constexpr double kSameBits = 1e-6;
#else
constexpr double kSameBits = 0;
#endif

inline Floats random_floats(std::int64_t n, std::uint64_t stream) {
  Floats values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random_normal(3, stream, i));
  return values;
}

/// Returns `count` arrays of n floats.
inline std::vector<Floats> random_arrays(std::size_t count, std::int64_t n) {
  std::vector<Floats> arrays;
  for (std::size_t k = 0; k < count; ++k) arrays.push_back(random_floats(n, 10 + k));
  return arrays;
}

/// "" if every element of `actual` is within tolerance * max(1, |expected|), else where it is not. NaN never is.
inline std::string difference(const Floats& actual, const Floats& expected, double tolerance) {
  if (actual.size() != expected.size()) return "another size";
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = expected.size(); i-- > 0;) {
    const double most = tolerance * std::max(1.0, std::abs(double{expected[i]}));
    if (std::abs(double{actual[i]} - double{expected[i]}) <= most) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return "";
  std::ostringstream text;
  text.precision(9);
  text << wrong << " of " << expected.size() << " elements differ, first [" << first << "]: " << actual[first]
       << ", expected " << expected[first];
  return text.str();
}

using Work = std::function<void(sync::VectorOps& ops, const std::vector<float*>& arrays)>;

/// Returns the arrays after `work`. The k-th is on device devices[k] (on 0 if there is none).
inline std::vector<Floats> outcome(sync::VectorOps& ops, const std::vector<Floats>& arrays, const Work& work,
                                   const std::vector<int>& devices = {}) {
  std::vector<sync::DeviceVector> buffers;
  std::vector<float*> pointers;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const auto n = static_cast<std::int64_t>(arrays[k].size());
    buffers.emplace_back(ops, n, k < devices.size() ? devices[k] : 0);
    ops.upload(n, arrays[k].data(), buffers.back().data());
    pointers.push_back(buffers.back().data());
  }
  work(ops, pointers);
  std::vector<Floats> result;
  for (const sync::DeviceVector& buffer : buffers) result.push_back(buffer.to_host());
  return result;
}

inline void check_same(const std::vector<Floats>& actual, const std::vector<Floats>& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    INFO("array " << k);
    CHECK(difference(actual[k], expected[k], tolerance) == "");
  }
}

}  // namespace lockstep::cuda
