#pragma once
// Runs tasks: closed form of replay.hpp, one process per task that needs a cluster, each different task once.
#include <string>
#include <vector>

#include "sim/records/map.hpp"

namespace lockstep::sim {

struct TaskTime {
  double seconds = 0;  ///< of an iteration, or of all the all-reduces
  double low_s = 0;    ///< with the inputs at the favourable end of their uncertainty
  double high_s = 0;
  std::string failure{};  ///< why it could not be simulated; empty: it was
};

/// Times of tasks in the order given, at most `jobs` processes at a time. A task that is the same as another is run
/// once; one that cannot be simulated does not keep the others from it.
std::vector<TaskTime> run_tasks(const std::vector<const Task*>& tasks, int jobs);

/// While one is alive tasks are run without their bounds, which take eight times as long and which a fit does not need:
/// low_s and high_s are then those of a task without uncertainties.
class WithoutBounds {
 public:
  WithoutBounds();
  ~WithoutBounds();
  WithoutBounds(const WithoutBounds&) = delete;
  WithoutBounds& operator=(const WithoutBounds&) = delete;
};

/// What a task is, as text: tasks with the same text take the same time.
std::string task_text(const Task& task);

}  // namespace lockstep::sim
