#pragma once
// cuDNN's graph interface in C, as far as one convolution needs it: descriptors, the engines that the heuristics
// propose, and executable plans. cudnn_backend.h and cudnn_graph.h name the attributes.
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

/// The status by name, and what cuDNN says of the last error on this thread (which attribute, which value).
std::string cudnn_error(cudnnStatus_t status);

inline void check(cudnnStatus_t status, const char* call, const char* file = nullptr, int line = 0) {
  if (status != CUDNN_STATUS_SUCCESS) fail(call, cudnn_error(status), file, line);
}
#define LOCKSTEP_CUDNN_CHECK(call) ::lockstep::cuda::check((call), #call, __FILE__, __LINE__)

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
  /// Other than success where cuDNN refuses it: this engine cannot run this operation here.
  cudnnStatus_t try_finalise();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

enum class Direction { forward, data_gradient, filter_gradient };

/// One convolution in one direction. With `accumulate` (data gradient only) the result is added to what is there. With
/// `has_sums` (forward only) the outputs and their squares are summed for each channel as well, in float.
struct ConvolutionProblem {
  Direction direction;
  ConvolutionShape shape;
  device::Precision precision;
  bool accumulate;
  bool has_sums = false;
};
/// Floats of ConvolutionMemory::sums, and where among them the sums of squares begin.
inline std::int64_t squares_offset(int channels) {
  return (channels + 31) / 32 * std::int64_t{32};
}
inline std::int64_t sums_floats(int channels) {
  return 2 * squares_offset(channels);
}

/// "forward convolution, bf16, 64 x 3x224x224 -> 64x112x112, kernel 7x7, ...": for messages.
std::string describe(const ConvolutionProblem& problem);

/// Whose engines are asked for: those of the handle's GPU, or of a GPU that is only described (cuDNN 9.11 and later).
/// A description lets everything but the execution be tried on a machine without a GPU.
struct ConvolutionTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* described = nullptr;
};
/// From cuDNN's JSON of a GPU's properties. Throws std::runtime_error where this cuDNN cannot.
CudnnDescriptor described_gpu(const std::string& json);

/// An engine and its settings by cuDNN's numbers: enough to plan it again without asking the heuristics, which take
/// most of the time. Holds for the same problem on GPUs of the same kind.
struct EngineRecipe {
  std::int64_t engine = 0;
  std::vector<std::pair<cudnnBackendKnobType_t, std::int64_t>> knobs;
};

/// A problem as cuDNN sees it, and the engines that may solve it, most promising first: those of heuristic mode A, then
/// the fallback ones. Left out are engines whose results vary between runs and engines of another precision: for fp32
/// those that round inputs (TF32) or transform large tiles (Winograd 4x4 and up, FFT), for all those that convert
/// inputs down or sum in half precision.
class ConvolutionEngines {
 public:
  ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem);
  /// One engine alone, without heuristics; none where cuDNN refuses it.
  ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem, const EngineRecipe& recipe);
  /// How often this process has asked the heuristics.
  static std::int64_t questions();
  std::size_t count() const { return configurations_.size(); }
  /// The first so many are those that the heuristics recommend; the others only have to run, some of them a hundred
  /// times as slowly.
  std::size_t recommended() const { return recommended_; }
  /// Indices [begin, end) in the order in which they are worth trying: the first `most` settings of each engine, then
  /// the rest, each in cuDNN's order. Heuristics list many settings of one engine before the next engine comes.
  std::vector<std::size_t> in_turns(std::size_t begin, std::size_t end, int most) const;
  /// By cuDNN's numbers of this kind of operation; empty where cuDNN does not tell.
  std::optional<std::int64_t> engine(std::size_t index) const;
  /// What cuDNN refused and what was left out, for messages: "mode A: 12 engines, 3 left out; ...".
  const std::string& remarks() const { return remarks_; }

  struct Plan {
    CudnnDescriptor descriptor;
    std::int64_t workspace_bytes;
    int sums_channels = 0;  ///< of a problem with sums
  };
  /// null where the engine cannot run here, with the reason in `why`.
  std::unique_ptr<Plan> plan(std::size_t index, std::string& why) const;
  /// Empty where cuDNN does not tell.
  std::optional<EngineRecipe> recipe(std::size_t index) const;

 private:
  /// Sets graph_; false where cuDNN refuses.
  bool make_graph(const ConvolutionProblem& problem);
  void propose(const char* name, cudnnBackendHeurMode_t mode, const ConvolutionProblem& problem);
  void remark(const std::string& text);
  /// Remarks on it where it is.
  bool is_refused(const std::string& what, cudnnStatus_t status);

  ConvolutionTarget target_;
  std::string remarks_;
  std::vector<CudnnDescriptor> parts_;  ///< what the operation refers to
  std::unique_ptr<CudnnDescriptor> graph_;
  std::vector<CudnnDescriptor> configurations_;
  std::size_t recommended_ = 0;
  int sums_channels_ = 0;
};

/// Pointers of a convolution: images, outputs and weights (or their gradients, by direction).
struct ConvolutionMemory {
  void* x;
  void* y;
  void* weight;
  float* sums = nullptr;  ///< of a problem with sums: of the outputs, at squares_offset() of their squares
};

/// Enqueues a plan; nothing is kept, so pointers may change.
cudnnStatus_t execute(cudnnHandle_t handle, const ConvolutionEngines::Plan& plan, const ConvolutionMemory& memory,
                      void* workspace);

}  // namespace lockstep::cuda
