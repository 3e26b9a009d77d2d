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

/// Reads the run of one record. `cell` names the runs that differ in nothing but the seed. The iterations to a target
/// are where the test error crosses it, log-linear between two evaluations. These are the last one before it and the
/// first one that reaches it. If the first evaluation of all reaches it, its own iterations count. A run that did not
/// end counts as far as it came. Throws InputError.
ProfileRun run_of_record(const JsonNode& record, const std::string& cell, const std::vector<TargetAccuracy>& targets);

/// Reads all records in the given files, folders and studies (engine/base/study.hpp). Folders "search" are left out,
/// because their runs trained on part of the data. A cell is the folder of its records. One profile may be given before
/// any record; its runs are fitted again. Profiles in folders are ignored, since they are made of records. Throws
/// InputError: no record, one that counts twice, records of different models or data, a cell to hold out that is not
/// there.
ConvergenceProfile profile_of(const std::vector<std::string>& paths, const ProfileRequest& request);

/// Fits every law that the runs allow; what they do not is left out, and `not_fitted` says why. `uses_noise_scale`: a law
/// of S-SGD runs at one batch takes its critical batch from their gradient noise scale (critical_batch.hpp).
void fit_profile(ConvergenceProfile& profile, std::vector<std::string>* not_fitted = nullptr,
                 bool uses_noise_scale = false);

/// A prediction for a cell by laws that have not seen it.
struct LeftOutCell {
  std::string cell;
  Algorithm algorithm;
  std::string variable;
  std::size_t target;
  double x;
  double measured;   ///< median of the runs' iterations; that of a censored run counts as its length
  bool is_censored;  ///< half of the runs or more did not reach it: `measured` is a lower bound
  IterationsBound predicted;
  int inside, runs;  ///< runs within the bounds; a censored one is where the upper bound is beyond its length
};

/// The cells held out, predicted by the profile's fits; and each other cell, predicted by fits without it.
std::vector<LeftOutCell> check_held_out(const ConvergenceProfile& profile);
std::vector<LeftOutCell> check_one_by_one(const ConvergenceProfile& profile);

/// Tables for a person: the fits, and how well cells that they have not seen are predicted.
std::string profile_text(const ConvergenceProfile& profile, const std::vector<std::string>& not_fitted);

}  // namespace lockstep::sim::convergence
