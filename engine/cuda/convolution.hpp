#pragma once
// Convolutions of one replica. For every problem (shape, direction, precision) the engines that cuDNN proposes are
// timed once per process and kind of GPU, the fastest that computes what it should (self_check.hpp) is remembered by its
// recipe, and each replica builds its own plan from that, on whichever of these GPUs, without asking cuDNN's heuristics
// again.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/cudnn_plan.hpp"

namespace lockstep::cuda {

/// An engine that wants a larger workspace is passed over: 256 MiB, or half as much again as images and outputs take.
/// In fp32 most engines without tensor cores want room for both, since they compute on channels first.
std::int64_t most_workspace_bytes(const ConvolutionProblem& problem);

/// How a problem is solved.
enum class Route {
  engine,           ///< an engine of cuDNN's
  engine_then_add,  ///< accumulate: the engine writes elsewhere, a kernel adds
  direct,           ///< our own slow kernels: cuDNN offers nothing
};

struct Choice {
  Route route = Route::direct;
  std::size_t engine = 0;  ///< index into ConvolutionEngines; those of a problem are the same every time
  std::string why;         ///< direct, and engines that only have to run: what was wrong with the others
  std::optional<EngineRecipe> recipe = std::nullopt;  ///< of the fastest
  bool is_fallback = false;                           ///< an engine that only has to run: none recommended does
};

/// A problem solved by one replica.
struct Solver {
  ConvolutionProblem problem;
  Choice choice;
  std::shared_ptr<const ConvolutionEngines> engines;  ///< null: direct
  std::unique_ptr<ConvolutionEngines::Plan> plan;
  std::int64_t workspace_bytes = 0;
  std::int64_t scratch_bytes = 0;  ///< memory beside the workspace
};

/// Names a problem on a kind of GPU (device_kind() in device_facts.hpp): equal keys, equal problems.
using ProblemKey = std::array<int, 22>;
ProblemKey key_of(const ConvolutionProblem& problem, int kind);

class ConvolutionSolvers {
 public:
  ConvolutionSolvers(cudnnHandle_t handle, cudaStream_t stream, int device, bool is_self_checked = true);

  /// Equal problems share one. `memory` is what the problem will run on: timing overwrites it and leaves zeros.
  std::shared_ptr<const Solver> solver(const ConvolutionProblem& problem, const ConvolutionMemory& memory);
  /// The same convolution, a forward one, with sums of its outputs for a batch norm (output_sums.hpp); null where no engine
  /// makes them rightly and in less time than `apart` and the kernel that sums them take. `memory` has room for the sums.
  std::shared_ptr<const Solver> summing(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                        const Solver& apart);
  /// One line for each problem that runs on our own slow kernels or on an engine that only has to run, with what cuDNN
  /// said, and one for each engine that was passed over because it computes something else.
  std::vector<std::string> slow_paths() const;
  /// "53 engines agree with sums by the definition, 0 do not: 0.21 s"; empty where these solvers checked none.
  std::string self_check() const;
  /// Enqueues it on the stream.
  void run(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch) const;

 private:
  std::shared_ptr<const ConvolutionEngines> engines_of(const ConvolutionProblem& problem, Route route) const;
  std::unique_ptr<Solver> fastest_summing(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                          const Solver& apart);
  /// null where the engine cannot run here, with the reason in `why`.
  std::unique_ptr<Solver> build(const ConvolutionProblem& problem, const Choice& choice,
                                std::shared_ptr<const ConvolutionEngines> engines, std::string& why) const;
  /// What another replica has found.
  std::unique_ptr<Solver> again(const ConvolutionProblem& problem, const Choice& choice) const;
  /// Of the engines that are recommended; where none of them runs, of the others; where none does, our own kernels.
  std::unique_ptr<Solver> fastest(const ConvolutionProblem& problem, const ConvolutionMemory& memory);
  /// Appends solvers by the recommended engines, or by the others, of one route; adds to `remarks` what was passed
  /// over.
  void append_candidates(const ConvolutionProblem& problem, Route route,
                         const std::shared_ptr<const ConvolutionEngines>& engines, bool are_recommended,
                         std::vector<std::unique_ptr<Solver>>& candidates, std::string& remarks) const;
  /// null where none of them runs and computes what it should.
  std::unique_ptr<Solver> fastest_of(std::vector<std::unique_ptr<Solver>> candidates, const ConvolutionMemory& memory,
                                     std::string& remarks);
  /// Whether one run computes what it should, or needs no check.
  bool is_right(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch);
  cudnnStatus_t try_run(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch) const;
  /// Milliseconds of one run; infinite where it does not run, with the reason in `why`. What takes far longer than
  /// `to_beat_ms` is timed less carefully.
  float time(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch, float to_beat_ms,
             std::string& why) const;

  cudnnHandle_t handle_;
  cudaStream_t stream_;
  int kind_;
  bool is_self_checked_;
  int agreed_ = 0;                    ///< engines, by the self-check
  std::vector<std::string> refuted_;  ///< and those that compute something else
  double self_check_s_ = 0;
  int summing_ = 0;  ///< convolutions whose engine makes sums
  std::map<ProblemKey, std::shared_ptr<const Solver>> solvers_;
  std::map<ProblemKey, std::shared_ptr<const Solver>> summing_solvers_;  ///< null: none is used
};

}  // namespace lockstep::cuda
