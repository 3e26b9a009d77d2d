#pragma once
// When the auto-tuner (engine/sync/auto_tuner.hpp) is asked, and with what throughput.
//
// An iteration of SMA is one of all GPUs of all processes: they have one speed, f iterations a second, and l learners
// on a GPU train l f batches a second there, which is what Alg. 2 takes. Processes measure f apart and not alike, but
// must add and remove learners together, or their shares of an iteration would not fit: all go by the longest time that
// one of them has measured, and none adds a learner to a GPU of which one of them has no room there. So all decide the
// same.
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/sync/auto_tuner.hpp"
#include "engine/sync/processes.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::train {

/// Most learners on a GPU that are tried.
constexpr int kTunedLearners = 16;

class Tuning {
 public:
  /// Of `gpus` GPUs in each of the processes, which must outlive it. A decision rests on `least_s` seconds or more.
  Tuning(int gpus, sync::Processes& processes, double least_s = 2);

  /// A throughput is that since here: after `iterations` iterations in `train_s` seconds.
  void observe_from(std::int64_t iterations, double train_s);
  /// The GPUs whose learners are now one more or one less, state_of(gpu).change; mostly none. `has_room` tells of a GPU
  /// of this process whether a learner more fits into its memory. Collective: every process calls it after every
  /// iteration, and gets the same answer.
  std::vector<int> decide(std::int64_t iterations, double train_s, const std::function<bool(int gpu)>& has_room);
  const sync::TunerState& state_of(int gpu) const { return states_.at(static_cast<std::size_t>(gpu)); }

  void visit_state(sync::StateVisitor& state);

 private:
  sync::Processes& processes_;
  double least_s_;
  std::vector<sync::TunerState> states_;  ///< of each GPU
  std::int64_t from_iterations_ = 0;
  double from_s_ = 0;
};

}  // namespace lockstep::train
