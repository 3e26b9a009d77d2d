#pragma once
// Runs a sweep: every run is a separate process, `jobs` at a time.
//
// A run is claimed by a lock on its log, which its process holds until it ends. So several callers (other terminals,
// ranks of mpirun, machines that share the folder) can work on one sweep without communication. A run's process dies
// with its caller. An interrupted run continues from its checkpoint, which is at most kCheckpointMinutes old.
#include <string>
#include <vector>

#include "engine/sweep/sweep.hpp"

namespace lockstep::sweep {

constexpr double kCheckpointMinutes = 1;

struct RunnerOptions {
  std::string folder;
  std::string program;  ///< path of `train`
  int jobs = 0;
  bool has_notes = true;  ///< prints a line to standard error for each run that ends
};

/// Works until no run is left that this call can do. Returns the number of runs that failed in this call. Throws
/// InputError, or std::runtime_error if the folder cannot be written.
int run_sweep(const Sweep& sweep, const RunnerOptions& options, const std::vector<std::string>& argv);

}  // namespace lockstep::sweep
