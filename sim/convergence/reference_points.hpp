#pragma once
// Samples to MLPerf's targets by global batch: MLCommons' reference convergence points, run by run, and a convergence
// profile per network.
//
// One saturating law per network is fitted to all rounds and corrected by the residuals of neighbouring points. So no
// submission is predicted only by the point of its own round. A point with a new kind of schedule, or one that first
// decays more than a factor of 2 of epochs from all older ones, has new settings. Runs above three times the median of their point are
// dropped, because they did not converge.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {

struct ReferencePoint {
  std::vector<std::string> rounds;  ///< MLPerf's rounds that contain it
  double batch = 0;
  double learning_rate = 0;     ///< 0: not given
  std::vector<double> samples;  ///< to the target, one per seed
  std::string new_settings;     ///< how its schedule differs from those of all older rounds; empty: it does not
  std::string source;
};

struct ReferenceNetwork {
  std::string network;       ///< MLPerf's name: "llama31_405b"
  std::string model;         ///< id of the zoo; empty: the zoo has no such model
  std::string suite;         ///< training or hpc
  TargetAccuracy target;     ///< as a loss: any measure that training lowers
  double train_samples = 0;  ///< per epoch; 0: the benchmark counts samples
  int sequence = 0;          ///< tokens of a sample; 0: not given
  bool adapters = false;     ///< trains LoRA adapters
  std::vector<ReferencePoint> points;
};

/// Schema lockstep/reference-points/1. Throws InputError.
std::vector<ReferenceNetwork> load_reference_points(const std::string& path);

/// Returns the profile with its law of S-SGD fitted. A cell is a batch.
ConvergenceProfile reference_profile(const ReferenceNetwork& network);

/// Samples to the target at a global batch with their 80 % interval. A batch below the smallest needs as many as the
/// smallest; beyond the largest, the law applies.
struct ReferenceSamples {
  double middle = 0, low = 0, high = 0;
};
ReferenceSamples samples_to_target(const ConvergenceProfile& profile, double batch);

/// Errors of predictions for points that were not fitted.
struct ReferenceCheck {
  std::vector<double> errors;  ///< |predicted / measured - 1| of each point's median samples
  int runs = 0, inside = 0;    ///< runs, and those within their interval

  double median_error() const;
};
/// Predicts each batch from the network's other batches.
ReferenceCheck check_batches(const ConvergenceProfile& profile);
/// Predicts the points that a round added by those of older rounds. No errors for networks with points of one round.
/// Points with new settings are scored alone: samples at another schedule do not follow from those of older rounds.
struct NewerRounds {
  ReferenceCheck same_settings, new_settings;
};
NewerRounds check_newer_rounds(const ReferenceNetwork& network);

/// Throws InputError with the existing names.
const ReferenceNetwork& find_network(const std::vector<ReferenceNetwork>& networks, const std::string& name);
/// A table with both checks, one row per network.
std::string reference_checks_text(const std::vector<ReferenceNetwork>& networks);

/// The reference points in a catalogue's folder, read at first use, with their profiles.
class ReferenceFile {
 public:
  explicit ReferenceFile(std::string path) : path_(std::move(path)) {}
  const std::vector<ReferenceNetwork>& networks();
  /// Null: MLPerf does not train this model, or has no points of it. `model`: an id of the zoo, "bert_large@512".
  const ReferenceNetwork* network_of_model(const std::string& model);
  const ConvergenceProfile* profile_of_model(const std::string& model);

 private:
  std::string path_;
  std::mutex mutex_;
  std::vector<ReferenceNetwork> networks_;
  std::map<std::string, ConvergenceProfile> profiles_;  ///< by network
};

}  // namespace lockstep::sim::convergence
