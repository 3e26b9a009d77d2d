// The part of cuBLASLt that Lockstep uses, for the emulated devices. Products are computed here, on their streams.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/cuda_emulated/emulated.hpp"

// Computes D = op(A) op(B) + beta C with column-major matrices, then bias and ReLU.

namespace {

struct ProductDescriptor {
  std::map<cublasLtMatmulDescAttributes_t, std::int32_t> numbers;
  const void* bias = nullptr;
  std::int32_t of(cublasLtMatmulDescAttributes_t name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? 0 : found->second;
  }
};

struct Layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};

float read(cudaDataType type, const void* from, std::int64_t i) {
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(from)[i]);
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i]);
  return static_cast<const float*>(from)[i];
}
void write(cudaDataType type, void* to, std::int64_t i, float value) {
  if (type == CUDA_R_16F)
    static_cast<__half*>(to)[i] = __float2half_rn(value);
  else if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(value);
  else
    static_cast<float*>(to)[i] = value;
}

void multiply(const ProductDescriptor& product, const Layout& la, const void* a, const Layout& lb, const void* b,
              float beta, const Layout& ld, void* d) {
  const bool ta = product.of(CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  const bool tb = product.of(CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  const auto epilogue = static_cast<cublasLtEpilogue_t>(product.of(CUBLASLT_MATMUL_DESC_EPILOGUE));
  const bool relu = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool bias = epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const auto inner = static_cast<std::int64_t>(ta ? la.rows : la.columns);
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(ld.columns); ++j) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(ld.rows); ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += read(la.type, a, ta ? k + i * la.leading : i + k * la.leading) *
               read(lb.type, b, tb ? j + k * lb.leading : k + j * lb.leading);
      const std::int64_t at = i + j * ld.leading;
      if (beta != 0) sum += beta * read(ld.type, d, at);
      if (bias) sum += read(ld.type, product.bias, i);
      write(ld.type, d, at, relu && sum < 0 ? 0 : sum);
    }
  }
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() {
  return 0;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "not supported";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t, cudaDataType_t) {
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(new ProductDescriptor);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete reinterpret_cast<ProductDescriptor*>(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t size) {
  auto& product = *reinterpret_cast<ProductDescriptor*>(descriptor);
  const std::size_t wanted = name == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof(void*) : sizeof(std::int32_t);
  if (size != wanted) return CUBLAS_STATUS_INVALID_VALUE;
  if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
    std::memcpy(&product.bias, value, size);
  else
    std::memcpy(&product.numbers[name], value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<int*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void*,
                                                    size_t size) {
  const std::size_t wanted =
      name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
  return size == wanted ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  const auto& product = *reinterpret_cast<ProductDescriptor*>(descriptor);
  const Layout& la = *reinterpret_cast<Layout*>(a);
  const Layout& lb = *reinterpret_cast<Layout*>(b);
  const Layout& ld = *reinterpret_cast<Layout*>(d);
  const bool ta = product.of(CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  const bool tb = product.of(CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  *count = 0;
  const bool fits = (ta ? la.columns : la.rows) == ld.rows && (tb ? lb.rows : lb.columns) == ld.columns &&
                    (ta ? la.rows : la.columns) == (tb ? lb.columns : lb.rows);
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void*, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (c != d) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!emulated::is_current(stream)) return CUBLAS_STATUS_EXECUTION_FAILED;
  for (const void* pointer : {a, b, c})
    if (reinterpret_cast<std::uintptr_t>(pointer) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  emulated::enqueue(
      stream, [=, product = *reinterpret_cast<ProductDescriptor*>(descriptor), of_a = *reinterpret_cast<Layout*>(la),
               of_b = *reinterpret_cast<Layout*>(lb), of_d = *reinterpret_cast<Layout*>(ld),
               factor = *static_cast<const float*>(beta)] { multiply(product, of_a, a, of_b, b, factor, of_d, d); });
  return CUBLAS_STATUS_SUCCESS;
}
