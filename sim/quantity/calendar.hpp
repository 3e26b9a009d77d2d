#pragma once
// Computes the calendar time of a training with interruptions, restarts and checkpoints (sim/failures/goodput.hpp),
// from the published rates of failures_format(). As in the published trainings, a spare node replaces every node that
// fails, so no training waits for a repair.
#include <optional>

#include "sim/failures/failure_spec.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Trainings on at most this number of GPUs count as undisturbed. At the published rate, 64 GPUs are interrupted once
/// in 33 days.
constexpr int kUndisturbedGpus = 64;

struct Calendar {
  Goodput goodput;                 ///< share of the calendar time that iterations take, and shares of the rest
  double interruptions_per_s = 0;  ///< per second of calendar time
  std::vector<Assumption> inputs;  ///< rates, each with kind and source
};

/// Returns the object `failures` of a training for which neither spares nor repairs are given. `storage`: for
/// parse_storage_bandwidth(); empty: the default.
Json default_failures(const std::string& storage);

/// Returns the calendar of the scenario's training on `gpus` GPUs; undisturbed on kUndisturbedGpus or fewer.
/// Checkpoints are at least `iteration_s` apart.
Calendar calendar_of(const Scenario& scenario, int gpus, const std::string& storage = "", double iteration_s = 0);

/// Name of the constant that training_over_fastest() returns.
inline constexpr const char* kTrainingOverFastest = "training over fastest split";

/// True if the ranks of the job's split are those of the fastest split that fits: none of them was given.
bool has_searched_ranks(const Job& job);
/// Returns a fitted constant: the calendar time of published trainings of language models whose split is not known, over
/// the predicted one with the fastest split. It predicts such trainings; it is no part of a job's time, whose split is
/// shown. It was fitted on more than kUndisturbedGpus GPUs. None if ranks are given,
/// for fine-tuning, and for networks of images.
std::optional<double> training_over_fastest(StackModel& m);

}  // namespace lockstep::sim::quantity
