#pragma once
// Where the time of a training step went, by a PyTorch profiler trace of one rank: every moment of a step belongs to one part.
//
// A step of a GPU lasts from the first kernel that was launched in it to the first one that was launched in the next. The last
// step, and one whose next was not recorded, is left out; a step alone lasts from its begin on the processor to the end of
// both. Where several kernels run at once, the moment belongs to the first part of StepPart that has one. A moment without a
// kernel belongs to the host until the next kernel has been launched, and is idle after that.
#include <array>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/base/json.hpp"

namespace lockstep::calib {

enum class StepPart {
  gemm,           ///< matrix multiplications and convolutions
  attention,      ///< fused attention
  memory,         ///< all other kernels, copies and fills
  communication,  ///< exposed: NCCL kernels alone
  host,           ///< the next kernel is not launched yet
  idle            ///< the next kernel is launched, and waits
};

inline const Choices<StepPart>& choices_of(StepPart) {
  static const Choices<StepPart> all{
      {StepPart::gemm, "gemm"},           {StepPart::attention, "attention"},
      {StepPart::memory, "memory-bound"}, {StepPart::communication, "exposed-communication"},
      {StepPart::host, "host"},           {StepPart::idle, "idle"}};
  return all;
}

constexpr std::size_t kStepParts = 6;
/// Seconds of each part, by the order of StepPart.
using PartSeconds = std::array<double, kStepParts>;

inline double& part_of(PartSeconds& seconds, StepPart part) {
  return seconds[static_cast<std::size_t>(part)];
}
inline double part_of(const PartSeconds& seconds, StepPart part) {
  return seconds[static_cast<std::size_t>(part)];
}

struct PartSpan {
  StepPart part = StepPart::idle;
  double begin_s = 0, end_s = 0;  ///< from the step's begin
};

/// NCCL kernels of one operation and size in a step.
struct StepCollective {
  std::string operation;   ///< "all-reduce"; "other" if neither the kernel's arguments nor its name tell
  int ranks = 0;           ///< 0: not noted
  std::int64_t bytes = 0;  ///< as nccl-tests counts them; 0: not noted
  int calls = 0;
  double seconds = 0;     ///< of all calls, waiting for other ranks and overlapped time included
  double exposed_s = 0;   ///< of these, while no other kernel ran
  double shortest_s = 0;  ///< call, which waits the least
};

struct TracedStep {
  std::int64_t number = 0;  ///< the profiler's
  double seconds = 0;
  PartSeconds parts{};          ///< add up to `seconds`
  std::vector<PartSpan> spans;  ///< neighbours have different parts
  std::vector<StepCollective> collectives;
};

struct StepTrace {
  std::string file, gpu;  ///< `gpu`: its name; empty: not noted
  int rank = 0, world_size = 1;
  std::vector<TracedStep> steps;  ///< at least one
};

/// True for a trace of events, an object or a bare array, rather than a log.
bool is_torch_trace(const std::string& text);

/// Throws InputError: no steps, no kernels of a GPU.
StepTrace read_step_trace(const std::string& text, const std::string& file);

/// The part of a kernel with this name that is no NCCL kernel, by the names that cuBLAS, CUTLASS, cuDNN, FlashAttention,
/// PyTorch, Triton and rocBLAS give their kernels.
StepPart kernel_part(const std::string& name);

}  // namespace lockstep::calib
