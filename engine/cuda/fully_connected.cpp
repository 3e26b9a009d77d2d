#include "engine/cuda/fully_connected.hpp"

#include <array>

namespace lockstep::cuda {
namespace {

cudaDataType_t cublas_type(device::Precision precision) {
  if (precision == device::Precision::fp16) return CUDA_R_16F;
  if (precision == device::Precision::bf16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

template <typename Value>
void set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t name, const Value& value) {
  LOCKSTEP_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(descriptor, name, &value, sizeof(value)));
}

cublasLtEpilogue_t epilogue_of(const ProductShape& shape) {
  if (shape.bias != nullptr) return shape.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return shape.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

/// Describes a dense column-major matrix: its leading dimension is `rows`.
cublasLtMatrixLayout_t layout(cudaDataType_t type, int rows, int columns) {
  cublasLtMatrixLayout_t result = nullptr;
  LOCKSTEP_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&result, type, static_cast<std::uint64_t>(rows),
                                                   static_cast<std::uint64_t>(columns), rows));
  return result;
}

}  // namespace

struct Product::Descriptors {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  Descriptors() = default;
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (preference != nullptr) cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t matrix : {a, b, d}) {
      if (matrix != nullptr) cublasLtMatrixLayoutDestroy(matrix);
    }
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }
};

std::string describe(const ProductShape& shape, device::Precision precision) {
  std::string text = "product of fully-connected layers, " + device::to_string(precision) + ", " +
                     std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + ", inner " +
                     std::to_string(shape.inner);
  if (shape.transpose_a) text += ", A transposed";
  if (shape.transpose_b) text += ", B transposed";
  if (shape.accumulate) text += ", added to what is there";
  if (shape.bias != nullptr) text += ", bias";
  if (shape.relu) text += ", ReLU";
  return text;
}

Product::Product(cublasLtHandle_t handle, device::Precision precision, const ProductShape& shape)
    : handle_(handle),
      what_(describe(shape, precision)),
      descriptors_(std::make_unique<Descriptors>()),
      accumulate_(shape.accumulate) {
  Descriptors& with = *descriptors_;
  const cudaDataType_t type = cublas_type(precision);
  const cublasComputeType_t compute =
      precision == device::Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  LOCKSTEP_CUBLAS_CHECK(cublasLtMatmulDescCreate(&with.product, compute, CUDA_R_32F));
  set(with.product, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(with.product, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(with.product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
  if (shape.bias != nullptr) set(with.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, shape.bias);
  with.a = shape.transpose_a ? layout(type, shape.inner, shape.rows) : layout(type, shape.rows, shape.inner);
  with.b = shape.transpose_b ? layout(type, shape.columns, shape.inner) : layout(type, shape.inner, shape.columns);
  with.d = layout(type, shape.rows, shape.columns);

  LOCKSTEP_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&with.preference));
  const std::uint64_t workspace_bytes = kProductWorkspaceBytes;
  LOCKSTEP_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(with.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                             &workspace_bytes, sizeof(workspace_bytes)));
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;  // NONE is always allowed
  LOCKSTEP_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(
      with.preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof(schemes)));

  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int count = 0;
  cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, with.product, with.a, with.b, with.d, with.d, with.preference,
                                     static_cast<int>(results.size()), results.data(), &count);
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    algorithm_ = result.algo;
    return;
  }
  if (status == CUBLAS_STATUS_SUCCESS) status = CUBLAS_STATUS_NOT_SUPPORTED;
  fail(what_, std::string("cublasLtMatmulAlgoGetHeuristic gives ") + std::to_string(count) + " algorithms, " +
                  cublasLtGetStatusString(status));
}

Product::~Product() = default;

void Product::run(const void* a, const void* b, void* d, void* workspace, cudaStream_t stream) const {
  const float alpha = 1;
  const float beta = accumulate_ ? 1 : 0;
  const Descriptors& with = *descriptors_;
  const cublasStatus_t status =
      cublasLtMatmul(handle_, with.product, &alpha, a, with.a, b, with.b, &beta, d, with.d, d, with.d, &algorithm_,
                     workspace, static_cast<std::size_t>(kProductWorkspaceBytes), stream);
  if (status != CUBLAS_STATUS_SUCCESS) fail(what_, std::string("cublasLtMatmul: ") + cublasLtGetStatusString(status));
}

}  // namespace lockstep::cuda
