#include <cudnn.h>

#include "engine/cuda/libraries/library.hpp"

namespace {

const lockstep::cuda::LoadedLibrary& cudnn() {
  static const lockstep::cuda::LoadedLibrary library("libcudnn.so." + std::to_string(CUDNN_MAJOR),
                                                     LOCKSTEP_CUDNN_FOUND_AT);
  return library;
}

}  // namespace

LOCKSTEP_PASS_ON(cudnn, size_t, cudnnGetVersion, (), ())
LOCKSTEP_PASS_ON(cudnn, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))
LOCKSTEP_PASS_ON(cudnn, void, cudnnGetLastErrorString, (char* text, size_t size), (text, size))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle), (handle))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle), (handle))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream), (handle, stream))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendCreateDescriptor,
                 (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor), (type, descriptor))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor),
                 (descriptor))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor), (descriptor))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendSetAttribute,
                 (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int64_t count, const void* values),
                 (descriptor, name, type, count, values))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendGetAttribute,
                 (cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count, void* values),
                 (descriptor, name, type, wanted, count, values))
LOCKSTEP_PASS_ON(cudnn, cudnnStatus_t, cudnnBackendExecute,
                 (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack),
                 (handle, plan, pack))
