#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "engine/cuda/libraries/library.hpp"

namespace {

// Since CUDA 11, the library has CUDA's version number.
const lockstep::cuda::LoadedLibrary& cublas_lt() {
  static const lockstep::cuda::LoadedLibrary library("libcublasLt.so." + std::to_string(CUDART_VERSION / 1000),
                                                     LOCKSTEP_CUBLASLT_FOUND_AT);
  return library;
}

}  // namespace

LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle), (handle))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), (handle))
LOCKSTEP_PASS_ON(cublas_lt, size_t, cublasLtGetVersion, (), ())
LOCKSTEP_PASS_ON(cublas_lt, const char*, cublasLtGetStatusString, (cublasStatus_t status), (status))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmul,
                 (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                  cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
                  const void* c, cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                  const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes, cudaStream_t stream),
                 (handle, product, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm,
                  workspace, workspace_bytes, stream))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,
                 (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t layout_a,
                  cublasLtMatrixLayout_t layout_b, cublasLtMatrixLayout_t layout_c, cublasLtMatrixLayout_t layout_d,
                  cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t results[],
                  int* found),
                 (handle, product, layout_a, layout_b, layout_c, layout_d, preference, wanted, results, found))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulDescCreate,
                 (cublasLtMatmulDesc_t * product, cublasComputeType_t compute, cudaDataType_t scale),
                 (product, compute, scale))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product), (product))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulDescSetAttribute,
                 (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name, const void* value, size_t size),
                 (product, name, value, size))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatrixLayoutCreate,
                 (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading),
                 (layout, type, rows, columns, leading))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout), (layout))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference),
                 (preference))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference),
                 (preference))
LOCKSTEP_PASS_ON(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,
                 (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, const void* value,
                  size_t size),
                 (preference, name, value, size))
