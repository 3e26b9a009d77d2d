#pragma once
// Reports predictions outside the range of their profile, because nothing else in the output shows it.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Returns lines about batches for which the given rates of one GPU say nothing: another model's rates, or batches
/// outside theirs.
std::vector<std::string> unrated_batch_warnings(const Scenario& scenario, int batch_per_gpu);

/// Returns a line for each way in which the scenario leaves the profile of compute; empty without such a profile. If
/// the batch was not measured, the fit is extrapolated. If the number of busy devices was not measured, the nearest
/// curve is used. A line also tells if the profile is of another device than the cluster's GPU.
std::vector<std::string> profile_range_warnings(const Scenario& scenario, int gpus, int batch_per_gpu);

/// Returns a line for each way in which all-reduces of `call_bytes` bytes leave the measured sizes or numbers of nodes.
/// Only all-reduces by a profile count: "profile", "profile-average", or NCCL's constants fitted to a profile.
std::vector<std::string> calls_beyond_profile(const Scenario& scenario, int gpus, int nodes,
                                              const std::vector<double>& call_bytes);

/// Checks the measured slowdown of compute during collectives (overlap_spec.hpp). Returns a line each if the batch, the
/// collectives' sizes (`call_bytes`; empty: not checked) or the number of busy devices was not measured. The slowdown
/// is then that of the nearest measured value.
std::vector<std::string> overlap_beyond_profile(const Scenario& scenario, int gpus, int batch_per_gpu,
                                                const std::vector<double>& call_bytes);

}  // namespace lockstep::sim::scenario
