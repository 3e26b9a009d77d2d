#pragma once
// Times workloads. Closed forms and max-plus replays run many to a process: one that dies does not take this program along.
// Messages, whose engine lives once in a process, run in one each.
#include <string>
#include <vector>

#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

struct [[nodiscard]] WorkloadTime {
  double seconds = 0;  ///< of an iteration, or of all the all-reduces
  double low_s = 0;    ///< with the inputs at the favourable end of their uncertainty
  double high_s = 0;
  std::string failure{};  ///< why it could not be simulated; empty: it was
};

struct TimingOptions {
  int jobs = 1;  ///< processes at a time; 0: all in this one, for work that is in one of its own already
  /// Without, low_s and high_s are those of a run without uncertainties: they take eight times as long as the time
  /// itself, and a fit needs none.
  bool bounds = true;
};

/// Times in the order given. One that cannot be simulated does not keep the others from it.
std::vector<WorkloadTime> time_workloads(const std::vector<const Workload*>& runs, const TimingOptions& options);

}  // namespace lockstep::sim::quantity
