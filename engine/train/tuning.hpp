#pragma once
// Decides when to call the auto-tuner (engine/sync/auto_tuner.hpp), and with which throughput.
//
// Its decisions depend on measured speed and differ between runs. The record stores them, so that another run can
// repeat them (--auto-tune-from).
//
// An iteration of SMA includes all GPUs of all processes, so they share one speed, f iterations per second. With l
// learners, a GPU trains l f batches per second, the throughput in Alg. 2. Each process measures a different f, but all
// must add and remove learners together, or their parts of an iteration would not match. So all use the longest time
// that any process measured, and none adds a learner to a GPU for which any process lacks memory. Therefore all decide
// the same.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/sync/auto_tuner.hpp"
#include "engine/sync/processes.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::train {

/// The most learners per GPU that are tried.
constexpr int kTunedLearners = 16;

/// The tuner's decision that was made after iteration `iteration`: the number of learners of a GPU from then on, one
/// more or one less.
struct TuningDecision {
  std::int64_t iteration;
  int gpu;
  int learners;
};

/// Reads /tuned of the record of a run with --auto-tune. Throws InputError if there is no such record, or if its
/// decisions are not in order or belong to another number of GPUs.
std::vector<TuningDecision> decisions_of_record(const std::string& path, int gpus);
Json to_json(const TuningDecision& decision);

class Tuning {
 public:
  /// For `gpus` GPUs in each process; `processes` must outlive this object. A decision uses a measurement of at least
  /// `least_s` seconds.
  Tuning(int gpus, sync::Processes& processes, double least_s = 2);
  /// Repeats the `given` decisions after the same iterations, whatever the measured speed, so that a run can be
  /// repeated.
  Tuning(int gpus, sync::Processes& processes, std::vector<TuningDecision> given);

  /// Starts a measurement of throughput after `iterations` iterations in `train_s` seconds.
  void observe_from(std::int64_t iterations, double train_s);
  /// Returns the GPUs whose number of learners changes now, by state_of(gpu).change; usually none. `has_room` returns
  /// whether a GPU of this process has memory for another learner. Collective: every process calls it after every
  /// iteration and gets the same answer.
  std::vector<int> decide(std::int64_t iterations, double train_s, const std::function<bool(int gpu)>& has_room);
  const sync::TunerState& state_of(int gpu) const { return states_.at(static_cast<std::size_t>(gpu)); }

  void visit_state(sync::StateVisitor& state);

 private:
  std::vector<int> decide_as_given(std::int64_t iterations);

  sync::Processes& processes_;
  double least_s_;
  std::vector<sync::TunerState> states_;  ///< of each GPU
  std::optional<std::vector<TuningDecision>> given_;
  std::size_t next_ = 0;  ///< of `given_`
  std::int64_t from_iterations_ = 0;
  double from_s_ = 0;
};

}  // namespace lockstep::train
