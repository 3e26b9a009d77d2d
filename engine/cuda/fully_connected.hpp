#pragma once
// Matrix multiplications (GEMM) of fully-connected layers with cuBLASLt. It sums in float; its heuristics choose the
// algorithm when the layer is created. Split sums are added in float in a fixed order, so that results are reproducible
// to the bit.
#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/cuda/element.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

inline void check(cublasStatus_t status, const char* call, const char* file = nullptr, int line = 0) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(call, cublasLtGetStatusString(status), file, line);
}
#define LOCKSTEP_CUBLAS_CHECK(call) ::lockstep::cuda::check((call), #call, __FILE__, __LINE__)

class CublasHandle {
 public:
  CublasHandle() { LOCKSTEP_CUBLAS_CHECK(cublasLtCreate(&handle_)); }
  ~CublasHandle() { cublasLtDestroy(handle_); }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;
  operator cublasLtHandle_t() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

constexpr std::int64_t kProductWorkspaceBytes = std::int64_t{32} << 20;

/// D = op(A) op(B) [+ D] [+ bias] [ReLU], with column-major matrices; op(A) is rows x inner, op(B) is inner x columns.
struct ProductShape {
  int rows, columns, inner;
  bool transpose_a, transpose_b;
  bool accumulate;
  const void* bias;  ///< one element per row of D; null: none
  bool relu;
};

/// Describes a product in messages: "product of fully-connected layers, bf16, 4096 x 16, inner 9216, A transposed,
/// bias, ReLU".
std::string describe(const ProductShape& shape, device::Precision precision);

class Product {
 public:
  /// Throws std::runtime_error, with sizes and status, if cuBLASLt has no algorithm for the product.
  Product(cublasLtHandle_t handle, device::Precision precision, const ProductShape& shape);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  void run(const void* a, const void* b, void* d, void* workspace, cudaStream_t stream) const;

 private:
  struct Descriptors;

  cublasLtHandle_t handle_;
  std::string what_;
  std::unique_ptr<Descriptors> descriptors_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool accumulate_;
};

}  // namespace lockstep::cuda
