#pragma once
// Matrix multiplication (GEMM) of row-major matrices, C = A B or C += A B. Single precision uses oneDNN if the build
// has it. Otherwise Eigen computes, in the builds of level.hpp, and allocates no heap memory.
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

/// Computes C = A B, or C += A B if `accumulate`. C is rows x cols, row-major, with `stride` elements between rows.
template <typename Scalar>
void gemm(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c, std::int64_t stride,
          bool accumulate);

}  // namespace lockstep::host
