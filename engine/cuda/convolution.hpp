#pragma once
// Convolutions of one replica. For every problem (shape, direction, precision), the engines that cuDNN proposes are
// timed once per process and kind of GPU. The recipe of the fastest engine that computes correctly (self_check.hpp) is
// kept. Each replica builds its plan from the recipe, on any GPU of that kind, without asking cuDNN's heuristics again.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/cudnn_plan.hpp"

namespace lockstep::cuda {

/// Engines that need a larger workspace are skipped. The limit is 256 MiB or 1.5 times the size of images and outputs,
/// whichever is larger. In fp32 most engines without tensor cores need memory for both, because they compute with
/// channels first.
std::int64_t most_workspace_bytes(const ConvolutionProblem& problem);

/// Names the kernels that compute a convolution.
enum class Route {
  engine,           ///< an engine of cuDNN
  engine_then_add,  ///< accumulate: the engine writes to other memory, then a kernel adds
  direct,           ///< our own slow kernels, because cuDNN offers nothing
};

struct Choice {
  Route route = Route::direct;
  std::size_t engine = 0;  ///< index into ConvolutionEngines, whose order is the same each time
  std::string why;         ///< for `direct` and fallback engines: why the other engines were rejected
  std::optional<EngineRecipe> recipe = std::nullopt;  ///< recipe of the fastest engine
  bool is_fallback = false;                           ///< no recommended engine works; this is one of the others
};

/// A problem solved by one replica.
struct Solver {
  ConvolutionProblem problem;
  Choice choice;
  std::shared_ptr<const ConvolutionEngines> engines;  ///< null: direct
  std::unique_ptr<ConvolutionEngines::Plan> plan;
  std::int64_t workspace_bytes = 0;
  std::int64_t scratch_bytes = 0;  ///< memory in addition to the workspace
};

/// Identifies a problem on a kind of GPU (device_kind() in device_facts.hpp): equal keys mean equal problems.
using ProblemKey = std::array<int, 22>;
ProblemKey key_of(const ConvolutionProblem& problem, int kind);

class ConvolutionSolvers {
 public:
  ConvolutionSolvers(cudnnHandle_t handle, cudaStream_t stream, int device, bool is_self_checked = true);

  /// Returns the fastest solver; equal problems share one. Timing runs on `memory`, the problem's own, and leaves it
  /// zeroed.
  std::shared_ptr<const Solver> solver(const ConvolutionProblem& problem, const ConvolutionMemory& memory);
  /// The solver of a forward convolution whose engine also sums its outputs for a batch norm (output_sums.hpp). Null if
  /// no engine computes the sums correctly and faster than `apart` plus a separate summing kernel. `memory` must have
  /// space for the sums.
  std::shared_ptr<const Solver> summing(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                        const Solver& apart);
  /// One line for each problem that runs on our own slow kernels, or on an engine that cuDNN does not recommend, with
  /// cuDNN's reason. Also one line for each engine that was rejected because its results are wrong.
  std::vector<std::string> fallbacks() const;
  /// "53 engines agree with sums by the definition, 0 do not: 0.21 s"; empty if no engine was checked.
  std::string self_check_text() const;
  /// Puts the convolution on the stream and returns.
  void run(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch) const;

 private:
  std::shared_ptr<const ConvolutionEngines> engines_of(const ConvolutionProblem& problem, Route route) const;
  std::unique_ptr<Solver> fastest_summing(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                          const Solver& apart);
  /// Null if the engine cannot run here, with the reason in `why`.
  std::unique_ptr<Solver> build(const ConvolutionProblem& problem, const Choice& choice,
                                std::shared_ptr<const ConvolutionEngines> engines, std::string& why) const;
  /// Builds the solver from a choice that another replica made.
  std::unique_ptr<Solver> again(const ConvolutionProblem& problem, const Choice& choice) const;
  /// Tries the recommended engines, then the others if none of those runs, then our own kernels.
  std::unique_ptr<Solver> fastest(const ConvolutionProblem& problem, const ConvolutionMemory& memory);
  /// Appends solvers for the recommended engines of one route, or for its other engines. Adds the rejected ones to
  /// `remarks`.
  void append_candidates(const ConvolutionProblem& problem, Route route,
                         const std::shared_ptr<const ConvolutionEngines>& engines, bool are_recommended,
                         std::vector<std::unique_ptr<Solver>>& candidates, std::string& remarks) const;
  /// Null if none of them runs with correct results.
  std::unique_ptr<Solver> fastest_of(std::vector<std::unique_ptr<Solver>> candidates, const ConvolutionMemory& memory,
                                     std::string& remarks);
  /// Whether one run gives correct results, or needs no check.
  bool is_right(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch);
  cudnnStatus_t try_run(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch) const;
  /// Returns milliseconds per run; infinite if the engine does not run, with the reason in `why`. An engine that is
  /// much slower than `to_beat_ms` is timed less precisely.
  float time(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch, float to_beat_ms,
             std::string& why) const;

  cudnnHandle_t handle_;
  cudaStream_t stream_;
  int kind_;
  bool is_self_checked_;
  int agreed_ = 0;                    ///< number of engines that passed the self-check
  std::vector<std::string> refuted_;  ///< engines with wrong results
  double self_check_s_ = 0;
  int summing_ = 0;  ///< number of convolutions whose engine computes sums
  std::map<ProblemKey, std::shared_ptr<const Solver>> solvers_;
  std::map<ProblemKey, std::shared_ptr<const Solver>> summing_solvers_;  ///< null: no such engine is used
};

}  // namespace lockstep::cuda
