#include "engine/cuda/convolution.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace lockstep::cuda {
namespace {

constexpr std::size_t kMostTimed = 8;  ///< engines of a problem and route
constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{256} << 20;
constexpr int kRounds = 3;
constexpr int kRunsOfRound = 4;

/// What this process has found out. One at a time: timings must not meet.
struct Findings {
  std::mutex mutex;
  std::map<ProblemKey, Choice> choices;
};
Findings& findings() {
  static Findings all;
  return all;
}

std::int64_t image_bytes(const ConvolutionProblem& problem) {
  const ConvolutionShape& s = problem.shape;
  return aligned(std::int64_t{s.images} * s.in_height * s.in_width * s.in_channels *
                 element_bytes(element_of(problem.precision)));
}

void run_direct(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream) {
  const Element element = element_of(problem.precision);
  switch (problem.direction) {
    case Direction::forward:
      return direct_forward(element, problem.shape, memory.x, memory.weight, memory.y, stream);
    case Direction::data_gradient:
      return direct_data_gradient(element, problem.shape, memory.y, memory.weight, memory.x, problem.accumulate,
                                  stream);
    case Direction::filter_gradient:
      return direct_filter_gradient(element, problem.shape, memory.x, memory.y, memory.weight, stream);
  }
}

}  // namespace

ProblemKey key_of(const ConvolutionProblem& problem, int device) {
  const ConvolutionShape& s = problem.shape;
  const model::Window& w = s.window;
  return {device,
          static_cast<int>(problem.direction),
          static_cast<int>(problem.precision),
          problem.accumulate ? 1 : 0,
          s.images,
          s.in_height,
          s.in_width,
          s.in_channels,
          s.out_height,
          s.out_width,
          s.out_channels,
          w.kernel_h,
          w.kernel_w,
          w.stride_h,
          w.stride_w,
          w.pad_top,
          w.pad_bottom,
          w.pad_left,
          w.pad_right,
          w.groups,
          w.ceil ? 1 : 0,
          0};
}

std::shared_ptr<const ConvolutionEngines> ConvolutionSolvers::engines_of(const ConvolutionProblem& problem,
                                                                         Route route) const {
  if (route == Route::direct) return nullptr;
  ConvolutionProblem asked = problem;
  asked.accumulate = problem.accumulate && route == Route::engine;
  return std::make_shared<const ConvolutionEngines>(handle_, asked);
}

std::unique_ptr<Solver> ConvolutionSolvers::build(const ConvolutionProblem& problem, Choice choice,
                                                  std::shared_ptr<const ConvolutionEngines> engines) const {
  auto solver = std::make_unique<Solver>();
  solver->problem = problem;
  solver->choice = choice;
  solver->engines = std::move(engines);
  if (choice.route == Route::direct) return solver;
  if (choice.route == Route::engine_then_add) solver->scratch_bytes = image_bytes(problem);
  if (choice.engine >= solver->engines->count()) return nullptr;
  solver->plan = solver->engines->plan(choice.engine);
  if (solver->plan == nullptr) return nullptr;
  solver->workspace_bytes = solver->plan->workspace_bytes;
  return solver;
}

std::shared_ptr<const Solver> ConvolutionSolvers::solver(const ConvolutionProblem& problem,
                                                         const ConvolutionMemory& memory) {
  const ProblemKey key = key_of(problem, device_);
  const auto known = solvers_.find(key);
  if (known != solvers_.end()) return known->second;
  Choice choice;
  {
    const std::lock_guard<std::mutex> lock(findings().mutex);
    const auto found = findings().choices.find(key);
    choice = found != findings().choices.end() ? found->second : fastest(problem, memory);
    findings().choices[key] = choice;
  }
  std::shared_ptr<const Solver> solver = build(problem, choice, engines_of(problem, choice.route));
  if (solver == nullptr) fail("cuDNN", "an engine that ran before cannot be built again");
  solvers_[key] = solver;
  return solver;
}

Choice ConvolutionSolvers::fastest(const ConvolutionProblem& problem, const ConvolutionMemory& memory) const {
  std::vector<std::unique_ptr<Solver>> candidates;
  std::vector<Route> routes{Route::engine};
  if (problem.accumulate) routes.push_back(Route::engine_then_add);
  std::int64_t workspace_bytes = 0;
  for (Route route : routes) {
    const std::shared_ptr<const ConvolutionEngines> engines = engines_of(problem, route);
    std::size_t usable = 0;
    for (std::size_t i = 0; i < engines->count() && usable < kMostTimed; ++i) {
      std::unique_ptr<Solver> candidate = build(problem, {route, i}, engines);
      if (candidate == nullptr || candidate->workspace_bytes > kMostWorkspaceBytes) continue;
      workspace_bytes = std::max(workspace_bytes, candidate->workspace_bytes);
      candidates.push_back(std::move(candidate));
      ++usable;
    }
  }
  const DeviceBuffer<char> workspace(workspace_bytes);
  const DeviceBuffer<char> scratch(problem.accumulate ? image_bytes(problem) : 0);
  Choice best;
  float best_ms = std::numeric_limits<float>::infinity();
  for (const std::unique_ptr<Solver>& candidate : candidates) {
    const float ms = time(*candidate, memory, workspace.data(), scratch.data());
    if (ms >= best_ms) continue;
    best_ms = ms;
    best = candidate->choice;
  }
  return best;
}

cudnnStatus_t ConvolutionSolvers::try_run(const Solver& solver, const ConvolutionMemory& memory, void* workspace,
                                          void* scratch) const {
  if (solver.choice.route == Route::direct) {
    run_direct(solver.problem, memory, stream_);
    return CUDNN_STATUS_SUCCESS;
  }
  if (solver.choice.route == Route::engine) return execute(handle_, *solver.plan, memory, workspace);
  const cudnnStatus_t status = execute(handle_, *solver.plan, {scratch, memory.y, memory.weight}, workspace);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const ConvolutionShape& s = solver.problem.shape;
  pass_on(element_of(solver.problem.precision), scratch, memory.x,
          std::int64_t{s.images} * s.in_height * s.in_width * s.in_channels, true, stream_);
  return status;
}

void ConvolutionSolvers::run(const Solver& solver, const ConvolutionMemory& memory, void* workspace,
                             void* scratch) const {
  LOCKSTEP_CUDNN_CHECK(try_run(solver, memory, workspace, scratch));
}

float ConvolutionSolvers::time(const Solver& solver, const ConvolutionMemory& memory, void* workspace,
                               void* scratch) const {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  if (try_run(solver, memory, workspace, scratch) != CUDNN_STATUS_SUCCESS) return kNever;
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_));
  Event start(true);
  Event end(true);
  float best_ms = kNever;
  for (int round = 0; round < kRounds; ++round) {
    start.record(stream_);
    for (int i = 0; i < kRunsOfRound; ++i) {
      if (try_run(solver, memory, workspace, scratch) != CUDNN_STATUS_SUCCESS) return kNever;
    }
    end.record(stream_);
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&ms, start, end));
    best_ms = std::min(best_ms, ms / kRunsOfRound);
  }
  return best_ms;
}

}  // namespace lockstep::cuda
