#pragma once
// A convergence profile, schema "lockstep/convergence/1", for one model and one data set. It has the iterations that
// each run took to several targets, and the laws fitted to them. README.md describes the file.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/sync/algorithm.hpp"
#include "sim/convergence/law.hpp"

namespace lockstep::sim::convergence {

/// Lists the algorithms that have laws.
inline const std::vector<Algorithm>& algorithms_with_laws() {
  static const std::vector<Algorithm> all{Algorithm::s_sgd,          Algorithm::sma,       Algorithm::ea_sgd,
                                          Algorithm::backup_workers, Algorithm::async_sgd, Algorithm::local_sgd};
  return all;
}

/// The settings that decide how many iterations training takes, in the simulator's names.
struct TrainingSetting {
  Algorithm algorithm = Algorithm::s_sgd;  ///< also sma, ea-sgd, backup-workers, async-sgd, local-sgd
  double batch = 1;                        ///< images per worker or learner in an iteration
  double workers = 1;                      ///< number whose gradients an update uses, or of all learners
  double tau = 1;                          ///< sma, ea-sgd, local-sgd: iterations per synchronisation
  double staleness = 0;                    ///< async-sgd: mean age of a gradient, in updates

  double images() const { return batch * workers; }  ///< per update
};

/// The algorithm whose law by its main variable holds for `algorithm` at tau 1. For local SGD it is S-SGD: the mean of
/// replicas that are averaged in every iteration, and of their velocities, follows the mean gradient.
inline Algorithm algorithm_of_main_law(Algorithm algorithm) {
  return algorithm == Algorithm::local_sgd ? Algorithm::s_sgd : algorithm;
}

/// An accuracy, or the loss of a language model; the other one is 0.
struct TargetAccuracy {
  std::string name;     ///< "98.5 % test accuracy", "loss 2.2"
  double accuracy = 0;  ///< 0.985
  double loss = 0;      ///< nats per token
};

/// When a run reached a target, or its length if it did not. If there is no earlier evaluation, `above` is 0.
struct TargetReached {
  bool is_reached = false;
  double iterations = 0;  ///< where the test error crosses, log-linear between evaluations; or the whole run's length
  double above = 0;       ///< last evaluation below the target
};

/// The gradient noise scale of a stretch of a run, in images per update (train --noise-scale).
struct NoiseStretch {
  double iterations = 0;                 ///< of the run up to the stretch's end
  std::optional<double> critical_batch;  ///< none: the mean gradient is not distinguishable from noise
  double low = 0;                        ///< 80 % interval
  std::optional<double> high;            ///< none: no upper bound
};

struct ProfileRun {
  std::string cell;
  TrainingSetting setting;
  std::uint64_t seed = 0;
  double learning_rate = 0;  ///< 0: not given
  bool is_held_out = false;  ///< held out from the fits, to check them
  bool is_diverged = false;  ///< not used in fits
  std::vector<TargetReached> targets;
  std::vector<NoiseStretch> noise;  ///< in the order of the run; empty: not measured
  std::string source;               ///< file, or record of the publication
};

/// A run that is not fitted, kept with the reason.
struct RunWithoutLaw {
  std::string cell, algorithm;
  std::string why;
  std::string source;  ///< file of its record
};

/// A law for one algorithm and target, or a table of published points.
struct ConvergenceFit {
  Algorithm algorithm = Algorithm::s_sgd;
  std::string variable;  ///< batch (images of an update), learners, tau, staleness
  std::size_t target = 0;
  std::optional<double> batch;     ///< per learner or worker, the same in all runs
  std::optional<double> learners;  ///< the same in all runs, if the variable is another one
  double from_x = 0, to_x = 0;     ///< range of the runs
  int reached = 0, censored = 0, diverged = 0;
  Law law;
  std::vector<std::pair<double, double>> table;  ///< (x, iterations), ascending; overrides the law
};

struct ConvergenceProfile {
  std::string name;
  std::string model;
  std::string data;
  double train_samples = 0;
  std::string kind = "measured";  ///< or published
  std::string source;
  std::vector<TargetAccuracy> targets;
  std::vector<ProfileRun> runs;
  std::vector<RunWithoutLaw> runs_without_law;
  std::vector<ConvergenceFit> fits;
  double coverage = 0.8;  ///< probability that the bounds contain a run

  /// Find a target by name, or by accuracy; nothing if there is none.
  std::optional<std::size_t> target_named(const std::string& name) const;
  std::optional<std::size_t> target_of(double accuracy) const;
  const ConvergenceFit* fit(Algorithm algorithm, const std::string& variable, std::size_t target) const;
};

/// Iterations to a target with the bounds of a single run, and remarks for the reader.
struct IterationsEstimate {
  IterationsBound bound;
  std::vector<std::string> notes;  ///< extrapolations
};

/// A law is extrapolated up to this factor beyond the runs' range; estimate_iterations() refuses more.
constexpr double kFarthest = 4;

/// The reason why the profile cannot predict the setting: no law, another batch per learner, or x too far away.
std::optional<std::string> why_not_covered(const ConvergenceProfile& profile, std::size_t target,
                                           const TrainingSetting& setting);
/// Throws std::invalid_argument with why_not_covered().
IterationsEstimate estimate_iterations(const ConvergenceProfile& profile, std::size_t target,
                                       const TrainingSetting& setting);

/// Throws InputError.
ConvergenceProfile convergence_profile_from_json(const JsonNode& node);
Json to_json(const ConvergenceProfile& profile);

}  // namespace lockstep::sim::convergence
