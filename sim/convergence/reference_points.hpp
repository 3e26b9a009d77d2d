#pragma once
// Samples to the targets of MLPerf by the global batch: MLCommons' reference convergence points, run by run, and the
// convergence profile of each network that follows.
//
// One saturating law is fitted per network over all rounds, and corrected by the residuals of neighbouring points. No
// submission is predicted by the point of its own round alone. Runs above three times the median of their point are dropped:
// they did not converge.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {

struct ReferencePoint {
  std::vector<std::string> rounds;  ///< of MLPerf, that have it
  double batch = 0;
  double learning_rate = 0;     ///< 0: not given
  std::vector<double> samples;  ///< to the target, of each seed
  std::string source;
};

struct ReferenceNetwork {
  std::string network;       ///< as MLPerf calls it: "llama31_405b"
  std::string model;         ///< id of the zoo; empty: the zoo has no such model
  std::string suite;         ///< training or hpc
  TargetAccuracy target;     ///< as a loss: any measure that falls
  double train_samples = 0;  ///< of an epoch; 0: the benchmark counts samples
  std::vector<ReferencePoint> points;
};

/// Schema lockstep/reference-points/1. Throws InputError.
std::vector<ReferenceNetwork> load_reference_points(const std::string& path);

/// Returns the profile with its law of S-SGD fitted. A cell is a batch.
ConvergenceProfile reference_profile(const ReferenceNetwork& network);

/// Samples to the target at a global batch with their 80 % interval. Below the smallest batch they are those of the smallest;
/// beyond the largest they follow the law.
struct ReferenceSamples {
  double middle = 0, low = 0, high = 0;
};
ReferenceSamples samples_to_target(const ConvergenceProfile& profile, double batch);

/// Errors of predicted points that the law has not seen.
struct ReferenceCheck {
  std::vector<double> errors;  ///< of the median samples of each point, |ratio - 1|
  int runs = 0, inside = 0;    ///< runs, and those within their interval

  double median_error() const;
};
/// Predicts each batch from the network's other batches.
ReferenceCheck check_batches(const ConvergenceProfile& profile);
/// The points that a round added, by those of older rounds. Networks whose points are all of one round have no errors.
ReferenceCheck check_newer_rounds(const ReferenceNetwork& network);

/// Throws InputError, which names those that exist.
const ReferenceNetwork& find_network(const std::vector<ReferenceNetwork>& networks, const std::string& name);
/// A row for each network: both checks.
std::string reference_checks_text(const std::vector<ReferenceNetwork>& networks);

/// The file of a catalogue's folder, read when it is first asked for, with its profiles.
class ReferenceFile {
 public:
  explicit ReferenceFile(std::string path) : path_(std::move(path)) {}
  const std::vector<ReferenceNetwork>& networks();
  /// Null: MLPerf trains no such model, or has no points of it. `model`: an id of the zoo, "bert_large@512".
  const ConvergenceProfile* profile_of_model(const std::string& model);

 private:
  std::string path_;
  std::mutex mutex_;
  std::vector<ReferenceNetwork> networks_;
  std::map<std::string, ConvergenceProfile> profiles_;  ///< by network
};

}  // namespace lockstep::sim::convergence
