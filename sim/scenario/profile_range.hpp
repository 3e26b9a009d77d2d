#pragma once
// Where a prediction reaches beyond what its profile holds: said to the reader, for nothing else would show it.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Lines about what given rates of one GPU do not say of a batch: another model's, or batches outside theirs.
std::vector<std::string> beyond_rates(const Scenario& scenario, int batch_per_gpu);

/// A line each, empty without a profile of compute: a batch outside the measured ones (the fit goes on), another number
/// of busy devices than was measured (the nearest curve is taken), a profile of another device than the cluster's GPU.
std::vector<std::string> beyond_profile(const Scenario& scenario, int gpus, int batch_per_gpu);

/// Of calls of these sizes, a line where all-reduces by a profile ("profile", "profile-average", or NCCL's constants
/// fitted to one) reach beyond the sizes, or the number of nodes, that were measured.
std::vector<std::string> calls_beyond_profile(const Scenario& scenario, int gpus, int nodes,
                                              const std::vector<double>& call_bytes);

/// Where compute beside collectives is slowed as the profile has measured (overlap_spec.hpp), a line each where the
/// batch, the collectives' sizes (`call_bytes`; none: not looked at) or the number of busy devices is not among those
/// measured: the nearest's slowdown is taken.
std::vector<std::string> overlap_beyond_profile(const Scenario& scenario, int gpus, int batch_per_gpu,
                                                const std::vector<double>& call_bytes);

}  // namespace lockstep::sim::scenario
