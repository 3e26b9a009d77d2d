#pragma once
// Convergence profiles from the records that `train` writes (schema "lockstep/run/1").
#include <string>
#include <vector>

#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {

struct ProfileRequest {
  std::string name;
  std::vector<double> targets;        ///< test accuracies, rising; empty: those of the records' sweeps, or their target
  std::vector<std::string> held_out;  ///< cells that the fits must not see
};

/// Reads the run of one record. `cell` is the name that runs share if only their seeds differ. The iterations to a
/// target are where the test error crosses it, log-linear between two evaluations: the last one below the target and
/// the first one that reaches it. If the very first evaluation reaches it, its own iterations count. An unfinished run
/// counts up to its last evaluation. Throws InputError.
ProfileRun run_of_record(const JsonNode& record, const std::string& cell, const std::vector<TargetAccuracy>& targets);

/// Reads all records in the given files, folders and studies (engine/base/study.hpp). Skips folders "search",
/// whose runs trained on part of the data. A cell is the folder of its records. The first path may be a profile;
/// its runs are fitted again. Profiles in folders are ignored, because they are made from records. Throws
/// InputError: no record, one that counts twice, records of different models or data, an unknown cell to hold
/// out.
ConvergenceProfile profile_of(const std::vector<std::string>& paths, const ProfileRequest& request);

/// Fits every law that the runs allow; `not_fitted` gets the reasons for the others. `uses_noise_scale`: if S-SGD runs
/// have a single batch, their gradient noise scale gives the law's critical batch (critical_batch.hpp).
void fit_profile(ConvergenceProfile& profile, std::vector<std::string>* not_fitted = nullptr,
                 bool uses_noise_scale = false);

/// A prediction for a cell by laws that were fitted without it.
struct LeftOutCell {
  std::string cell;
  Algorithm algorithm;
  std::string variable;
  std::size_t target;
  double x;
  double measured;   ///< median of the runs' iterations; a censored run counts with its length
  bool is_censored;  ///< at least half of the runs did not reach it: `measured` is a lower bound
  IterationsBound predicted;
  int inside, runs;  ///< runs within the bounds; a censored run counts if it ended below the upper bound
};

/// Predicts the held-out cells by the profile's fits.
std::vector<LeftOutCell> check_held_out(const ConvergenceProfile& profile);
/// Predicts every other cell by fits without this cell (leave-one-out).
std::vector<LeftOutCell> check_one_by_one(const ConvergenceProfile& profile);

/// Tables for people: the fits, and the errors of predictions for cells that the fits did not use.
std::string profile_text(const ConvergenceProfile& profile, const std::vector<std::string>& not_fitted);

}  // namespace lockstep::sim::convergence
