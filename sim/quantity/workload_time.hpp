#pragma once
// Times workloads. A process runs many closed forms and max-plus replays; if it dies, this program survives. Each
// replay by messages runs in a process of its own, because SimGrid's engine runs once per process.
#include <string>
#include <vector>

#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

struct [[nodiscard]] WorkloadTime {
  double seconds = 0;  ///< of an iteration, or of all all-reduces together
  double low_s = 0;    ///< with all inputs at the favourable end of their uncertainty
  double high_s = 0;
  std::string failure{};  ///< why it could not be simulated; empty: it succeeded
};

struct TimingOptions {
  int jobs = 1;  ///< processes at a time; 0: all in this process, for callers that are worker processes
  /// false: low_s and high_s ignore uncertainties. Bounds take eight times as long as the time itself, and a fit needs
  /// none.
  bool bounds = true;
};

/// Returns times in the order given. A workload that cannot be simulated does not affect the others.
std::vector<WorkloadTime> time_workloads(const std::vector<const Workload*>& runs, const TimingOptions& options);

}  // namespace lockstep::sim::quantity
