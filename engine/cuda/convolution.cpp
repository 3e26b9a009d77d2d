#include "engine/cuda/convolution.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/text.hpp"
#include "engine/cuda/device_facts.hpp"
#include "engine/cuda/self_check.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::size_t kMostTimed = 12;  ///< per problem and route
constexpr int kSettingsOfEngine = 3;    ///< per engine before all others have been tried
constexpr int kRounds = 3;
constexpr int kRunsOfRound = 4;
constexpr float kHopeless = 2;    ///< an engine this many times slower than the best gets one round only
constexpr float kLongRun_ms = 1;  ///< launch overhead is negligible for such runs, so one run is a round

/// Choices made in this process. The mutex also keeps timings from overlapping.
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

std::int64_t output_bytes(const ConvolutionProblem& problem) {
  const ConvolutionShape& s = problem.shape;
  return aligned(std::int64_t{s.images} * s.out_height * s.out_width * s.out_channels *
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

/// The problem that the engine itself solves: the route decides whether it accumulates.
ConvolutionProblem asked_by(const ConvolutionProblem& problem, Route route) {
  ConvolutionProblem asked = problem;
  asked.accumulate = problem.accumulate && route == Route::engine;
  return asked;
}

}  // namespace

ProblemKey key_of(const ConvolutionProblem& problem, int kind) {
  const ConvolutionShape& s = problem.shape;
  const model::Window& w = s.window;
  return {kind,
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
          problem.has_sums ? 1 : 0};
}

std::int64_t most_workspace_bytes(const ConvolutionProblem& problem) {
  return std::max(std::int64_t{256} << 20, (image_bytes(problem) + output_bytes(problem)) * 3 / 2);
}

ConvolutionSolvers::ConvolutionSolvers(cudnnHandle_t handle, cudaStream_t stream, int device, bool is_self_checked)
    : handle_(handle), stream_(stream), kind_(device_kind(device)), is_self_checked_(is_self_checked) {}

std::shared_ptr<const ConvolutionEngines> ConvolutionSolvers::engines_of(const ConvolutionProblem& problem,
                                                                         Route route) const {
  if (route == Route::direct) return nullptr;
  return std::make_shared<const ConvolutionEngines>(ConvolutionTarget{handle_, nullptr}, asked_by(problem, route));
}

std::unique_ptr<Solver> ConvolutionSolvers::build(const ConvolutionProblem& problem, const Choice& choice,
                                                  std::shared_ptr<const ConvolutionEngines> engines,
                                                  std::string& why) const {
  auto solver = std::make_unique<Solver>();
  solver->problem = problem;
  solver->choice = choice;
  solver->engines = std::move(engines);
  if (choice.route == Route::direct) return solver;
  if (choice.route == Route::engine_then_add) solver->scratch_bytes = image_bytes(problem);
  if (choice.engine >= solver->engines->count()) {
    why = "only " + std::to_string(solver->engines->count()) + " engines: " + solver->engines->remarks();
    return nullptr;
  }
  solver->plan = solver->engines->plan(choice.engine, why);
  if (solver->plan == nullptr) return nullptr;
  solver->workspace_bytes = solver->plan->workspace_bytes;
  return solver;
}

std::shared_ptr<const Solver> ConvolutionSolvers::solver(const ConvolutionProblem& problem,
                                                         const ConvolutionMemory& memory) {
  const ProblemKey key = key_of(problem, kind_);
  const auto known = solvers_.find(key);
  if (known != solvers_.end()) return known->second;
  std::shared_ptr<const Solver> solver;
  {
    const std::lock_guard<std::mutex> lock(findings().mutex);
    const auto found = findings().choices.find(key);
    if (found == findings().choices.end()) {
      solver = fastest(problem, memory);
      findings().choices[key] = solver->choice;
    } else {
      solver = again(problem, found->second);
    }
  }
  solvers_[key] = solver;
  return solver;
}

std::shared_ptr<const Solver> ConvolutionSolvers::summing(const ConvolutionProblem& problem,
                                                          const ConvolutionMemory& memory, const Solver& apart) {
  ConvolutionProblem asked = problem;
  asked.has_sums = true;
  const ProblemKey key = key_of(asked, kind_);
  const auto known = summing_solvers_.find(key);
  if (known != summing_solvers_.end()) return known->second;
  std::shared_ptr<const Solver> solver;
  {
    const std::lock_guard<std::mutex> lock(findings().mutex);
    const auto found = findings().choices.find(key);
    if (found == findings().choices.end()) {
      solver = fastest_summing(asked, memory, apart);
      findings().choices[key] = solver != nullptr ? solver->choice : Choice{};
    } else if (found->second.route != Route::direct) {
      solver = again(asked, found->second);
    }
  }
  if (solver != nullptr) ++summing_;
  summing_solvers_[key] = solver;
  return solver;
}

/// Tries only recommended engines, because a fallback engine is slower than a separate sum.
std::unique_ptr<Solver> ConvolutionSolvers::fastest_summing(const ConvolutionProblem& problem,
                                                            const ConvolutionMemory& memory, const Solver& apart) {
  const auto engines = engines_of(problem, Route::engine);
  std::vector<std::unique_ptr<Solver>> candidates;
  std::string remarks;
  append_candidates(problem, Route::engine, engines, true, candidates, remarks);
  std::unique_ptr<Solver> best = fastest_of(std::move(candidates), memory, remarks);
  if (best == nullptr) return nullptr;
  const DeviceBuffer<char> workspace(std::max(best->workspace_bytes, apart.workspace_bytes));
  const DeviceBuffer<char> scratch(std::max(best->scratch_bytes, apart.scratch_bytes));
  constexpr float kAnything = std::numeric_limits<float>::infinity();
  fill_for_check(problem, memory, stream_);
  std::string why;
  const float together_ms = time(*best, memory, workspace.data(), scratch.data(), kAnything, why);
  const float apart_ms = time(apart, memory, workspace.data(), scratch.data(), kAnything, why) +
                         measure_batch_norm_sums_ms(problem, memory, stream_);
  clear_after_check(problem, memory, stream_);
  if (!(together_ms < apart_ms)) return nullptr;
  best->choice.recipe = best->engines->recipe(best->choice.engine);
  return best;
}

std::unique_ptr<Solver> ConvolutionSolvers::again(const ConvolutionProblem& problem, const Choice& choice) const {
  std::string why;
  if (choice.recipe) {
    auto engines = std::make_shared<const ConvolutionEngines>(ConvolutionTarget{handle_, nullptr},
                                                              asked_by(problem, choice.route), *choice.recipe);
    std::unique_ptr<Solver> solver =
        build(problem, {choice.route, 0, choice.why, choice.recipe, choice.is_fallback}, std::move(engines), why);
    if (solver != nullptr) return solver;
    why += "; ";
  }
  std::string refused;
  std::unique_ptr<Solver> solver = build(problem, choice, engines_of(problem, choice.route), refused);
  if (solver == nullptr) fail(describe(problem), "an engine that ran before cannot be built again: " + why + refused);
  return solver;
}

std::unique_ptr<Solver> ConvolutionSolvers::fastest(const ConvolutionProblem& problem,
                                                    const ConvolutionMemory& memory) {
  std::vector<Route> routes{Route::engine};
  if (problem.accumulate) routes.push_back(Route::engine_then_add);
  std::vector<std::shared_ptr<const ConvolutionEngines>> engines;
  std::string remarks;
  for (Route route : routes) {
    engines.push_back(engines_of(problem, route));
    remarks += (remarks.empty() ? "" : "; then adding: ") + engines.back()->remarks();
  }
  for (const bool are_recommended : {true, false}) {
    std::vector<std::unique_ptr<Solver>> candidates;
    for (std::size_t r = 0; r < routes.size(); ++r)
      append_candidates(problem, routes[r], engines[r], are_recommended, candidates, remarks);
    std::unique_ptr<Solver> best = fastest_of(std::move(candidates), memory, remarks);
    if (best == nullptr) continue;
    best->choice.recipe = best->engines->recipe(best->choice.engine);
    best->choice.is_fallback = !are_recommended;
    if (!are_recommended) best->choice.why = remarks;
    return best;
  }
  std::string none;
  return build(problem, {Route::direct, 0, remarks}, nullptr, none);
}

void ConvolutionSolvers::append_candidates(const ConvolutionProblem& problem, Route route,
                                           const std::shared_ptr<const ConvolutionEngines>& engines,
                                           bool are_recommended, std::vector<std::unique_ptr<Solver>>& candidates,
                                           std::string& remarks) const {
  const std::size_t end = are_recommended ? engines->recommended() : engines->count();
  std::size_t usable = 0;
  for (const std::size_t i : engines->in_turns(are_recommended ? 0 : engines->recommended(), end, kSettingsOfEngine)) {
    if (usable == kMostTimed) break;
    std::string why;
    std::unique_ptr<Solver> candidate = build(problem, {route, i, ""}, engines, why);
    if (candidate != nullptr && candidate->workspace_bytes > most_workspace_bytes(problem)) {
      why = "a workspace of " + std::to_string(candidate->workspace_bytes) + " bytes";
      candidate = nullptr;
    }
    if (candidate == nullptr) {
      remarks += "; engine " + std::to_string(i) + ": " + why;
      continue;
    }
    candidates.push_back(std::move(candidate));
    ++usable;
  }
}

std::unique_ptr<Solver> ConvolutionSolvers::fastest_of(std::vector<std::unique_ptr<Solver>> candidates,
                                                       const ConvolutionMemory& memory, std::string& remarks) {
  if (candidates.empty()) return nullptr;
  std::int64_t workspace_bytes = 0;
  std::int64_t scratch_bytes = 0;
  for (const std::unique_ptr<Solver>& candidate : candidates) {
    workspace_bytes = std::max(workspace_bytes, candidate->workspace_bytes);
    scratch_bytes = std::max(scratch_bytes, candidate->scratch_bytes);
  }
  const DeviceBuffer<char> workspace(workspace_bytes);
  const DeviceBuffer<char> scratch(scratch_bytes);
  const ConvolutionProblem problem = candidates.front()->problem;
  fill_for_check(problem, memory, stream_);  // not zeros: these draw less power
  std::vector<std::pair<float, std::unique_ptr<Solver>>> timed;
  float best_ms = std::numeric_limits<float>::infinity();
  for (std::unique_ptr<Solver>& candidate : candidates) {
    std::string why;
    const float ms = time(*candidate, memory, workspace.data(), scratch.data(), best_ms, why);
    if (!why.empty()) remarks += "; engine " + std::to_string(candidate->choice.engine) + " does not run: " + why;
    if (ms == std::numeric_limits<float>::infinity()) continue;
    best_ms = std::min(best_ms, ms);
    timed.emplace_back(ms, std::move(candidate));
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::unique_ptr<Solver> best;
  for (auto& [ms, candidate] : timed) {
    if (best == nullptr && is_right(*candidate, memory, workspace.data(), scratch.data())) best = std::move(candidate);
  }
  clear_after_check(problem, memory, stream_);
  return best;
}

bool ConvolutionSolvers::is_right(const Solver& solver, const ConvolutionMemory& memory, void* workspace,
                                  void* scratch) {
  if (!is_self_checked_) return true;
  const auto began = std::chrono::steady_clock::now();
  fill_for_check(solver.problem, memory, stream_);
  run(solver, memory, workspace, scratch);
  std::string wrong = disagreement(solver.problem.precision, checked_results(solver.problem, memory, stream_));
  if (wrong.empty() && solver.problem.has_sums) wrong = sums_disagreement(solver.problem, memory, stream_);
  self_check_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (wrong.empty()) {
    ++agreed_;
    return true;
  }
  const std::string how = solver.choice.route == Route::engine_then_add ? " (a kernel of our own adds)" : "";
  refuted_.push_back(describe(solver.problem) + ": engine " + std::to_string(solver.choice.engine) + how +
                     " computes something else and is not used: " + wrong);
  return false;
}

std::string ConvolutionSolvers::self_check_text() const {
  if (agreed_ == 0 && refuted_.empty()) return "";
  std::string line = std::to_string(agreed_) + " engines agree with sums by the definition, " +
                     std::to_string(refuted_.size()) + " do not: " + short_number(self_check_s_) + " s";
  if (summing_ > 0) line += "; " + std::to_string(summing_) + " convolutions sum their outputs for a batch norm";
  return line;
}

std::vector<std::string> ConvolutionSolvers::fallbacks() const {
  std::vector<std::string> lines = refuted_;
  for (const auto& [key, solver] : solvers_) {
    const Choice& choice = solver->choice;
    if (choice.route == Route::direct)
      lines.push_back(describe(solver->problem) + ": no engine of cuDNN's, our own slow kernels (" + choice.why + ")");
    else if (choice.is_fallback)
      lines.push_back(describe(solver->problem) + ": none of the engines that cuDNN recommends, one that only has to " +
                      "run (" + choice.why + ")");
  }
  return lines;
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
  const cudnnStatus_t status = try_run(solver, memory, workspace, scratch);
  if (status != CUDNN_STATUS_SUCCESS) fail(describe(solver.problem), cudnn_error(status));
}

float ConvolutionSolvers::time(const Solver& solver, const ConvolutionMemory& memory, void* workspace, void* scratch,
                               float to_beat_ms, std::string& why) const {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  const auto runs = [&] {
    const cudnnStatus_t status = try_run(solver, memory, workspace, scratch);
    if (status == CUDNN_STATUS_SUCCESS) return true;
    why = cudnn_error(status);
    forget_cuda_error();
    return false;
  };
  if (!runs()) return kNever;
  const cudaError_t ran = cudaStreamSynchronize(stream_);
  if (ran != cudaSuccess)
    fail(describe(solver.problem), "an engine failed on the GPU: " + std::string(cudaGetErrorString(ran)));
  Event start(true);
  Event end(true);
  const auto round_ms = [&](int count) {
    start.record(stream_);
    for (int i = 0; i < count; ++i) {
      if (!runs()) return kNever;
    }
    end.record(stream_);
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&ms, start, end));
    return ms / static_cast<float>(count);
  };
  const float once_ms = round_ms(1);
  if (once_ms > std::max(kLongRun_ms, kHopeless * to_beat_ms)) return once_ms;
  float best_ms = kNever;
  for (int round = 0; round < kRounds && (round == 0 || best_ms <= kHopeless * to_beat_ms); ++round) {
    const float ms = round_ms(kRunsOfRound);
    if (!why.empty()) return kNever;
    best_ms = std::min(best_ms, ms);
  }
  return best_ms;
}

}  // namespace lockstep::cuda
