#pragma once
// Matrix products of row-major matrices, C = A B or C += A B: of single precision by oneDNN where there is it, else
// through Eigen in the build of level.hpp, which allocates no heap memory.
#include <cstdint>

namespace lockstep::host {

/// A row-major matrix; element (i, j) is data[i * stride + j], or data[j * stride + i] when transposed.
template <typename Scalar>
struct Operand {
  const Scalar* data;
  std::int64_t stride;
  bool transposed = false;
};

struct GemmSize {
  std::int64_t rows;   ///< of A and C
  std::int64_t cols;   ///< of B and C
  std::int64_t inner;  ///< columns of A, rows of B
};

/// C (rows x cols, row-major, `stride` elements between rows) = A B, or += A B when accumulating.
template <typename Scalar>
void gemm(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c, std::int64_t stride,
          bool accumulate);

}  // namespace lockstep::host
