#pragma once
// Runs a sweep: every run is a process of its own, `jobs` at a time.
//
// A run is taken by a lock on its log, which its process holds until it ends: several callers (other terminals, the
// ranks of mpirun, machines that share the folder) work on one sweep without a word between them. A run's process dies
// with its caller. What was cut off goes on from its checkpoint, at most kCheckpointMinutes older.
#include <string>
#include <vector>

#include "engine/sweep/sweep.hpp"

namespace lockstep::sweep {

constexpr double kCheckpointMinutes = 1;

struct RunnerOptions {
  std::string folder;
  std::string program;  ///< that of `train`
  int jobs = 0;
  bool has_notes = true;  ///< a line on standard error per run that ends
};

/// Works until nothing is left that may be done. Returns how many runs failed in this call. Throws InputError, or
/// std::runtime_error where the folder cannot be written.
int run_sweep(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv);

}  // namespace lockstep::sweep
