// The body of one build of gemm. It has no include guard and no namespace on purpose. The including file defines
// LOCKSTEP_LEVEL, which must differ between builds, and has its own compile flags. Eigen's namespace is renamed per
// build. Otherwise the linker would merge inline functions of different instruction sets, and a machine without AVX2
// could run the AVX2 copy.
#ifndef LOCKSTEP_LEVEL
#error "define LOCKSTEP_LEVEL before including gemm_kernel.hpp"
#endif
#define LOCKSTEP_JOIN_(a, b) a##b
#define LOCKSTEP_JOIN(a, b) LOCKSTEP_JOIN_(a, b)
#define Eigen LOCKSTEP_JOIN(LockstepEigen_, LOCKSTEP_LEVEL)
// Packed panels are on the stack, so that training allocates nothing. With the tiles and cache sizes below, a product
// has two panels of at most 2 MB each.
#define EIGEN_STACK_ALLOCATION_LIMIT 4000000
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>

#include "engine/host/gemm.hpp"

namespace lockstep::host::LOCKSTEP_LEVEL {

// Eigen packs all columns of a row-major C at once, so narrower tiles limit the size of that panel.
constexpr std::int64_t kTile = 512;

// Sets fixed cache sizes instead of this machine's, because they decide the order of summation.
inline void fix_cache_sizes() {
  static const bool once = (Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 16 << 20), true);
  static_cast<void>(once);
}

template <typename Scalar>
using Stored = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename Scalar>
using View = Eigen::Map<const Stored<Scalar>, 0, Eigen::OuterStride<>>;

template <typename A, typename B, typename C>
void store_product(const A& a, const B& b, C& c, bool accumulate) {
  if (accumulate)
    c.noalias() += a * b;
  else
    c.noalias() = a * b;
}

template <typename Scalar>
void multiply_tile(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c,
                   std::int64_t stride, bool accumulate) {
  const Eigen::OuterStride<> a_stride(a.stride);
  const Eigen::OuterStride<> b_stride(b.stride);
  Eigen::Map<Stored<Scalar>, 0, Eigen::OuterStride<>> out(c, size.rows, size.cols, Eigen::OuterStride<>(stride));
  const View<Scalar> a_plain(a.data, a.transposed ? size.inner : size.rows, a.transposed ? size.rows : size.inner,
                             a_stride);
  const View<Scalar> b_plain(b.data, b.transposed ? size.cols : size.inner, b.transposed ? size.inner : size.cols,
                             b_stride);
  if (a.transposed && b.transposed)
    store_product(a_plain.transpose(), b_plain.transpose(), out, accumulate);
  else if (a.transposed)
    store_product(a_plain.transpose(), b_plain, out, accumulate);
  else if (b.transposed)
    store_product(a_plain, b_plain.transpose(), out, accumulate);
  else
    store_product(a_plain, b_plain, out, accumulate);
}

template <typename Scalar>
void multiply(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c, std::int64_t stride,
              bool accumulate) {
  fix_cache_sizes();
  for (std::int64_t first = 0; first < size.cols; first += kTile) {
    const GemmSize tile{size.rows, std::min(kTile, size.cols - first), size.inner};
    const Operand<Scalar> part{b.data + (b.transposed ? first * b.stride : first), b.stride, b.transposed};
    multiply_tile(tile, a, part, c + first, stride, accumulate);
  }
}

template void multiply(const GemmSize&, const Operand<float>&, const Operand<float>&, float*, std::int64_t, bool);
template void multiply(const GemmSize&, const Operand<double>&, const Operand<double>&, double*, std::int64_t, bool);

}  // namespace lockstep::host::LOCKSTEP_LEVEL
