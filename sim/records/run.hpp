#pragma once
// Runs what jobs were mapped to: closed form of replay.hpp, one process per run that needs a cluster.
#include <string>
#include <vector>

#include "sim/records/map.hpp"

namespace lockstep::sim {
inline namespace records {

struct RunTime {
  double seconds = 0;  ///< of an iteration, or of all the all-reduces
  double low_s = 0;    ///< with the inputs at the favourable end of their uncertainty
  double high_s = 0;
  std::string failure{};  ///< why it could not be simulated; empty: it was
};

struct RunOptions {
  int jobs = 1;  ///< processes at a time
  /// Without, low_s and high_s are those of a run without uncertainties: they take eight times as long as the time
  /// itself, and a fit needs none.
  bool bounds = true;
};

/// Times in the order given. One that cannot be simulated does not keep the others from it.
std::vector<RunTime> run_all(const std::vector<const RecordRun*>& runs, const RunOptions& options);

}  // namespace records
}  // namespace lockstep::sim
