#pragma once
// The part of cuDNN's graph interface in C that one convolution needs: descriptors, the engines that the heuristics
// propose, and executable plans. The attributes are named in cudnn_backend.h and cudnn_graph.h.
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

/// The status by name, with cuDNN's message about the last error on this thread (which attribute, which value).
std::string cudnn_error(cudnnStatus_t status);

inline void check(cudnnStatus_t status, const char* call, const char* file = nullptr, int line = 0) {
  if (status != CUDNN_STATUS_SUCCESS) fail(call, cudnn_error(status), file, line);
}
#define LOCKSTEP_CUDNN_CHECK(call) ::lockstep::cuda::check((call), #call, __FILE__, __LINE__)

/// A cuDNN handle that is bound to a stream of the current device.
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

/// An owned descriptor of any type.
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
  /// Returns an error status if cuDNN refuses: this engine cannot run this operation here.
  cudnnStatus_t try_finalise();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

enum class Direction { forward, data_gradient, filter_gradient };

/// One convolution in one direction. With `accumulate` (data gradient only) the result is added to the existing values.
/// With `has_sums` (forward only) the outputs and their squares are also summed per channel, in float.
struct ConvolutionProblem {
  Direction direction;
  ConvolutionShape shape;
  device::Precision precision;
  bool accumulate;
  bool has_sums = false;
};
/// The number of floats in ConvolutionMemory::sums, and the offset of the sums of squares in it.
inline std::int64_t squares_offset(int channels) {
  return (channels + 31) / 32 * std::int64_t{32};
}
inline std::int64_t sums_floats(int channels) {
  return 2 * squares_offset(channels);
}

/// Describes a problem in messages: "forward convolution, bf16, 64 x 3x224x224 -> 64x112x112, kernel 7x7, ...".
std::string describe(const ConvolutionProblem& problem);

/// The GPU whose engines are queried: the handle's, or one that is only described (cuDNN 9.11 and later). With a
/// description, everything except execution works on a machine without a GPU.
struct ConvolutionTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* described = nullptr;
};
/// Reads cuDNN's JSON of a GPU's properties. Throws std::runtime_error if this cuDNN does not support that.
CudnnDescriptor described_gpu(const std::string& json);

/// An engine and its settings, as cuDNN's numbers. The engine can be planned from them without the heuristics, which
/// take most of the time. Valid for the same problem on GPUs of the same kind.
struct EngineRecipe {
  std::int64_t engine = 0;
  std::vector<std::pair<cudnnBackendKnobType_t, std::int64_t>> knobs;
};

/// A convolution problem as a cuDNN graph, and the engines that may solve it. Engines of heuristic mode A come first,
/// then the fallback engines, the most promising first. Engines whose results vary between runs are excluded, and so
/// are those of lower precision. In fp32 these round inputs (TF32) or transform large tiles (Winograd 4x4 and up, FFT).
/// In every precision they convert inputs down or sum in half precision.
class ConvolutionEngines {
 public:
  ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem);
  /// Uses one engine, without heuristics; empty if cuDNN refuses it.
  ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem, const EngineRecipe& recipe);
  /// The number of times that this process called the heuristics.
  static std::int64_t questions();
  std::size_t count() const { return configurations_.size(); }
  /// The number of recommended engines, which come first. The others are fallbacks, some of them a hundred times
  /// slower.
  std::size_t recommended() const { return recommended_; }
  /// Indices [begin, end) in the order in which to try them. The first `most` settings of each engine come first, then
  /// the rest, each in cuDNN's order. cuDNN's heuristics list many settings of one engine before the next engine.
  std::vector<std::size_t> in_turns(std::size_t begin, std::size_t end, int most) const;
  /// cuDNN's number of the engine for this kind of operation; empty if cuDNN does not report it.
  std::optional<std::int64_t> engine(std::size_t index) const;
  /// The engines that cuDNN refused or that were excluded, for messages: "mode A: 12 engines, 3 left out; ...".
  const std::string& remarks() const { return remarks_; }

  struct Plan {
    CudnnDescriptor descriptor;
    std::int64_t workspace_bytes;
    int sums_channels = 0;  ///< channels of a problem with sums; else 0
  };
  /// null if the engine cannot run here, with the reason in `why`.
  std::unique_ptr<Plan> plan(std::size_t index, std::string& why) const;
  /// Empty if cuDNN does not report the recipe.
  std::optional<EngineRecipe> recipe(std::size_t index) const;

 private:
  /// Sets graph_; returns false if cuDNN refuses it.
  bool make_graph(const ConvolutionProblem& problem);
  void propose(const char* name, cudnnBackendHeurMode_t mode, const ConvolutionProblem& problem);
  void remark(const std::string& text);
  /// Returns true and adds a remark if `status` is an error.
  bool is_refused(const std::string& what, cudnnStatus_t status);

  ConvolutionTarget target_;
  std::string remarks_;
  std::vector<CudnnDescriptor> parts_;  ///< the descriptors to which the operation refers
  std::unique_ptr<CudnnDescriptor> graph_;
  std::vector<CudnnDescriptor> configurations_;
  std::size_t recommended_ = 0;
  int sums_channels_ = 0;
};

/// Holds the addresses of a convolution's images, outputs and weights (or of their gradients, depending on the
/// direction).
struct ConvolutionMemory {
  void* x;
  void* y;
  void* weight;
  float* sums = nullptr;  ///< if problem.has_sums: sums of the outputs, and at squares_offset() of their squares
};

/// Enqueues a plan. Keeps no pointer, so that pointers may change between calls.
cudnnStatus_t execute(cudnnHandle_t handle, const ConvolutionEngines::Plan& plan, const ConvolutionMemory& memory,
                      void* workspace);

}  // namespace lockstep::cuda
