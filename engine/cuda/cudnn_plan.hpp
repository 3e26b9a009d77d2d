#pragma once
// cuDNN's graph interface in C, as far as one convolution needs it: descriptors, the engines that the heuristics
// propose, and executable plans. cudnn_backend.h and cudnn_graph.h name the attributes.
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

inline void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) fail(call, cudnnGetErrorString(status));
}
#define LOCKSTEP_CUDNN_CHECK(call) ::lockstep::cuda::check((call), #call)

/// A library handle on a stream of the current device.
class CudnnHandle {
 public:
  explicit CudnnHandle(cudaStream_t stream);
  ~CudnnHandle() { cudnnDestroy(handle_); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  operator cudnnHandle_t() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// An owned descriptor of any kind.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = nullptr; }
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set_integers(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  void set_descriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void finalise();
  /// false where cuDNN refuses it: this engine cannot run this operation here.
  bool try_finalise();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

enum class Direction { forward, data_gradient, filter_gradient };

/// One convolution in one direction. With `accumulate` (data gradient only) the result is added to what is there.
struct ConvolutionProblem {
  Direction direction;
  ConvolutionShape shape;
  device::Precision precision;
  bool accumulate;
};

/// A problem as cuDNN sees it, and the engines that may solve it, most promising first: those of heuristic mode A, then
/// the fallback ones. Left out are engines whose results vary between runs and engines of another precision: for fp32
/// those that round inputs (TF32) or transform large tiles (Winograd 4x4 and up, FFT), for all those that convert
/// inputs down or sum in half precision.
class ConvolutionEngines {
 public:
  ConvolutionEngines(cudnnHandle_t handle, const ConvolutionProblem& problem);
  std::size_t count() const { return configurations_.size(); }

  struct Plan {
    CudnnDescriptor descriptor;
    std::int64_t workspace_bytes;
  };
  /// null where the engine cannot run here.
  std::unique_ptr<Plan> plan(std::size_t index) const;

 private:
  void propose(cudnnBackendHeurMode_t mode, const ConvolutionProblem& problem);

  cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> parts_;  ///< what the operation refers to
  std::unique_ptr<CudnnDescriptor> graph_;
  std::vector<CudnnDescriptor> configurations_;
};

/// Pointers of a convolution: images, outputs and weights (or their gradients, by direction).
struct ConvolutionMemory {
  void* x;
  void* y;
  void* weight;
};

/// Enqueues a plan; nothing is kept, so pointers may change.
cudnnStatus_t execute(cudnnHandle_t handle, const ConvolutionEngines::Plan& plan, const ConvolutionMemory& memory,
                      void* workspace);

}  // namespace lockstep::cuda
