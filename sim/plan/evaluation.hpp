#pragma once
// Runs a plan's tasks on workers, each once: what the journal has is taken from it, what finishes goes into it, and
// what a dead process leaves is done again.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/plan/journal.hpp"
#include "sim/plan/plan_spec.hpp"
#include "sim/plan/workers.hpp"

namespace lockstep::sim::plan {

class Evaluation {
 public:
  Evaluation(const PlanSpec& plan, Workers& workers, Journal& journal);

  /// Simulates the tasks that at() does not know yet. The progress line calls them `what` (plural). Calls `finished`
  /// for each simulated task, once at() knows it. A task whose process dies twice has failed. Throws std::runtime_error
  /// if no worker is left.
  void run(const std::vector<Task>& tasks, const std::string& what,
           const std::function<void(const Task&)>& finished = {});
  /// Of a task that was run.
  const Outcome& at(const Task& task) const { return outcomes_.at(task.key()); }
  /// Tasks that were simulated by this run, and that the journal had.
  std::size_t simulated() const { return simulated_; }
  std::size_t resumed() const { return resumed_; }

 private:
  const PlanSpec& plan_;
  Workers& workers_;
  Journal& journal_;
  std::map<std::string, Outcome> outcomes_;
  std::size_t simulated_ = 0;
  std::size_t resumed_ = 0;
  int next_chunk_ = 0;
};

/// What a worker process does with a task's text.
RunTask plan_runner(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
