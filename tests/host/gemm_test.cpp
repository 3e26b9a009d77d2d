// Compares products of parts of larger matrices, in all builds, with explicit sums.
#include "engine/host/gemm.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::host {
namespace {

template <typename Scalar>
double element(const Operand<Scalar>& m, std::int64_t row, std::int64_t col) {
  return static_cast<double>(m.transposed ? m.data[col * m.stride + row] : m.data[row * m.stride + col]);
}

// Drawn once, so that every variant of a size gets the same.
template <typename Scalar>
const std::vector<Scalar>& drawn(std::int64_t count, std::uint64_t seed) {
  static std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<Scalar>> all;
  std::vector<Scalar>& values = all[{count, seed}];
  if (values.empty()) values = random_values<Scalar>(count, seed);
  return values;
}

template <typename Scalar>
double worst_error(const GemmSize& size, bool a_transposed, bool b_transposed, bool accumulate) {
  const std::int64_t stride = std::max({size.rows, size.cols, size.inner}) + 3;
  const std::vector<Scalar>& left = drawn<Scalar>(stride * stride, 21);
  const std::vector<Scalar>& right = drawn<Scalar>(stride * stride, 22);
  const std::vector<Scalar>& before = drawn<Scalar>(stride * stride, 23);
  std::vector<Scalar> result = before;
  const Operand<Scalar> a{left.data(), stride, a_transposed};
  const Operand<Scalar> b{right.data(), stride, b_transposed};
  gemm(size, a, b, result.data(), stride, accumulate);
  double worst = 0;
  for (std::int64_t row = 0; row < stride; ++row) {
    for (std::int64_t col = 0; col < stride; ++col) {
      const std::int64_t at = row * stride + col;
      const bool inside = row < size.rows && col < size.cols;
      double expected = inside && !accumulate ? 0 : static_cast<double>(before[at]);
      for (std::int64_t k = 0; inside && k < size.inner; ++k) expected += element(a, row, k) * element(b, k, col);
      worst = std::max(worst, std::abs(static_cast<double>(result[at]) - expected));
    }
  }
  return worst;
}

TEST_CASE("Products, whichever side is transposed, leave everything around them alone") {
  for (const Level level : levels_here()) {
    const Build build(level);
    for (const GemmSize& size : {GemmSize{1, 1, 1}, GemmSize{5, 3, 4}, GemmSize{1, 70, 33}, GemmSize{70, 1, 33},
                                 GemmSize{33, 65, 300}, GemmSize{3, 1030, 2}}) {
      for (int variant = 0; variant < 8; ++variant) {
        INFO(size.rows << " " << size.cols << " " << size.inner << " " << variant << " " << to_string(level));
        CHECK(worst_error<double>(size, variant % 2 != 0, variant / 2 % 2 != 0, variant > 3) < 1e-12);
        CHECK(worst_error<float>(size, variant % 2 != 0, variant / 2 % 2 != 0, variant > 3) < 1e-4);
      }
    }
  }
}

TEST_CASE("Products by oneDNN are the sums written out") {
  if (!uses_onednn()) return;
  for (const GemmSize& size : {GemmSize{1, 1, 1}, GemmSize{5, 3, 4}, GemmSize{33, 65, 300}, GemmSize{3, 1030, 2}})
    for (int variant = 0; variant < 8; ++variant)
      CHECK(worst_error<float>(size, variant % 2 != 0, variant / 2 % 2 != 0, variant > 3) < 1e-4);
}

}  // namespace
}  // namespace lockstep::host
