#pragma once
// Times workloads. Worker processes run closed forms and max-plus replays, many each; if one dies, this program
// survives. Each replay by messages has a process of its own, because SimGrid's engine runs once per process.
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/point/method.hpp"
#include "sim/program/jitter.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Processes exchange it as JSON of the listed fields.
struct [[nodiscard]] WorkloadTime {
  double seconds = 0;  ///< of an iteration, or of all all-reduces in sequence
  double low_s = 0;    ///< with all inputs at the favourable limit of their uncertainty
  double high_s = 0;
  PredictionMethod method{};  ///< by which `seconds` were computed
  std::string failure{};      ///< why it could not be simulated; empty: it was

  LOCKSTEP_FIELDS(seconds, low_s, high_s, method, failure);
};

struct TimingOptions {
  int jobs = 1;  ///< processes at a time; 0: runs all in this process, for callers that are worker processes
  /// false: low_s and high_s ignore uncertainties. Bounds take eight times as long as the time itself, and a fit does
  /// not need them.
  bool bounds = true;
  JitterCache* jitter = nullptr;  ///< draws that predictions of this process share
};

/// Returns times in the order given. A workload that cannot be simulated does not affect the others.
std::vector<WorkloadTime> time_workloads(const std::vector<const Workload*>& runs, const TimingOptions& options);

}  // namespace lockstep::sim::quantity
