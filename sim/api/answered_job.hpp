#pragma once
// Predicts a job once, and writes several outputs of the prediction.
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::api {

/// A catalogue, extended by GPUs from files.
class CatalogueWithFiles {
 public:
  /// `catalogue` must outlive it.
  CatalogueWithFiles(const Catalogue& catalogue, const std::vector<std::string>& gpus);
  const Catalogue& get() const { return own_ ? *own_ : *shared_; }

 private:
  const Catalogue* shared_;
  std::optional<Catalogue> own_;
};

class AnsweredJob {
 public:
  /// Predicts in this process. Throws InputError as `simulate job` does. `catalogue` must outlive it. `jitter`: draws
  /// that several predictions share.
  AnsweredJob(const JobQuestion& question, const Catalogue& catalogue, JitterCache* jitter = nullptr);

  const JobPrediction& prediction() const { return predicted_; }
  Json job() const;           ///< simulate job --json
  Json scenario() const;      ///< simulate job --scenario
  std::string table() const;  ///< simulate job
  Json result() const;        ///< simulate --json, for that scenario
  Json layers() const;        ///< layers_json() on the largest number of GPUs
  Json timeline() const;      ///< Chrome trace events of traced_gpus() on the largest number of GPUs

 private:
  LoadedScenario loaded() const;

  CatalogueWithFiles catalogue_;
  JobPrediction predicted_;
};

}  // namespace lockstep::sim::api
