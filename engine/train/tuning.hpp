#pragma once
// When the auto-tuner (engine/sync/auto_tuner.hpp) is asked, and with what throughput.
//
// What it decides follows from measured speed, and is not the same the next time; the run's record keeps it, so that
// another run can decide alike (--auto-tune-from).
//
// An iteration of SMA is one of all GPUs of all processes: they have one speed, f iterations a second, and l learners
// on a GPU train l f batches a second there, which is what Alg. 2 takes. Processes measure f apart and not alike, but
// must add and remove learners together, or their shares of an iteration would not fit: all go by the longest time that
// one of them has measured, and none adds a learner to a GPU of which one of them has no room there. So all decide the
// same.
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

/// Most learners on a GPU that are tried.
constexpr int kTunedLearners = 16;

/// What was decided after so many iterations: learners of a GPU from then on, one more or one less than before.
struct TuningDecision {
  std::int64_t iteration;
  int gpu;
  int learners;
};

/// /tuned of the record of a run with --auto-tune. Throws InputError: no such record, decisions that are not in order or
/// of another number of GPUs than `gpus`.
std::vector<TuningDecision> decisions_of_record(const std::string& path, int gpus);
Json to_json(const TuningDecision& decision);

class Tuning {
 public:
  /// Of `gpus` GPUs in each of the processes, which must outlive it. A decision rests on `least_s` seconds or more.
  Tuning(int gpus, sync::Processes& processes, double least_s = 2);
  /// The same decisions again, after the same iterations, whatever is measured: a run with them can be repeated.
  Tuning(int gpus, sync::Processes& processes, std::vector<TuningDecision> given);

  /// A throughput is that since here: after `iterations` iterations in `train_s` seconds.
  void observe_from(std::int64_t iterations, double train_s);
  /// The GPUs whose learners are now one more or one less, state_of(gpu).change; mostly none. `has_room` tells of a GPU
  /// of this process whether a learner more fits into its memory. Collective: every process calls it after every
  /// iteration, and gets the same answer.
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
