#pragma once
// Divides the time of a training step into parts, from a PyTorch profiler trace of one rank. Every moment belongs to
// one part.
//
// A GPU's step lasts from the first kernel launched in it to the first kernel launched in the next step. The last step
// is skipped, and so is a step whose successor was not recorded. If there is only one step, it lasts from its start on
// the processor to the end of both. If several kernels run at once, the moment belongs to the first part of StepPart
// among them. A moment without a kernel belongs to `host` until the next kernel has been launched, and to `idle` after
// that.
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
  communication,  ///< exposed: only NCCL kernels run
  host,           ///< the next kernel is not launched yet
  idle            ///< the next kernel has been launched but does not run yet
};

inline const Choices<StepPart>& choices_of(StepPart) {
  static const Choices<StepPart> all{
      {StepPart::gemm, "gemm"},           {StepPart::attention, "attention"},
      {StepPart::memory, "memory-bound"}, {StepPart::communication, "exposed-communication"},
      {StepPart::host, "host"},           {StepPart::idle, "idle"}};
  return all;
}

constexpr std::size_t kStepParts = 6;
/// Holds the seconds of each part, in the order of StepPart.
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

/// Sums the NCCL kernels of one operation and size in a step.
struct StepCollective {
  std::string operation;   ///< "all-reduce"; "other" if neither the kernel's arguments nor its name identifies it
  int ranks = 0;           ///< 0: not noted
  std::int64_t bytes = 0;  ///< as nccl-tests counts them; 0: not noted
  int calls = 0;
  double seconds = 0;     ///< of all calls, including waits for other ranks and overlapped time
  double exposed_s = 0;   ///< part of `seconds` while no other kernel ran
  double shortest_s = 0;  ///< shortest call, which waits the least
};

/// Describes one NCCL kernel of a step.
struct CollectiveCall {
  std::size_t collective = 0;     ///< its place in TracedStep::collectives
  std::string group;              ///< ranks of its process group, else the group's name; empty: not noted
  double begin_s = 0, end_s = 0;  ///< from the step's begin
};

struct TracedStep {
  std::int64_t number = 0;  ///< the profiler's step number
  double seconds = 0;
  PartSeconds parts{};          ///< add up to `seconds`
  std::vector<PartSpan> spans;  ///< neighbours have different parts
  std::vector<StepCollective> collectives;
  std::vector<CollectiveCall> calls;  ///< that began in the step, in order
};

struct StepTrace {
  std::string file, gpu;  ///< `gpu`: its name; empty: not recorded
  int rank = 0, world_size = 1;
  std::vector<TracedStep> steps;  ///< at least one
};

/// Whether the text is a trace of events, an object or a bare array, rather than a log.
bool is_torch_trace(const std::string& text);

/// Throws InputError if there are no steps or no GPU kernels.
StepTrace read_step_trace(const std::string& text, const std::string& file);

/// The part of a kernel that is no NCCL kernel. Recognises the kernel names of cuBLAS, CUTLASS, cuDNN, FlashAttention,
/// PyTorch, Triton and rocBLAS.
StepPart kernel_part(const std::string& name);

}  // namespace lockstep::calib
