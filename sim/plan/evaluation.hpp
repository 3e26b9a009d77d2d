#pragma once
// Runs each task of a plan once, on workers. It takes finished tasks from the journal, records new ones there, and
// repeats tasks of processes that died.
#include <functional>
#include <memory>
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
  /// for each simulated task, once at() knows it. If a task's process dies twice, the task has failed. Throws
  /// std::runtime_error if no worker is left.
  void run(const std::vector<Task>& tasks, const std::string& what,
           const std::function<void(const Task&, const Outcome&)>& finished = {});
  /// Returns the outcome of a task that was run.
  Outcome at(const Task& task) const { return outcomes_->at(task.key()); }
  /// Returns all outcomes; they grow with every run.
  std::shared_ptr<const Outcomes> outcomes() const { return outcomes_; }
  /// Returns the number of tasks that this run simulated; the next function, of those that the journal contained.
  std::size_t simulated() const { return simulated_; }
  std::size_t resumed() const { return resumed_; }

 private:
  const PlanSpec& plan_;
  Workers& workers_;
  Journal& journal_;
  std::shared_ptr<Outcomes> outcomes_;
  std::size_t simulated_ = 0;
  std::size_t resumed_ = 0;
  int next_chunk_ = 0;
};

/// Returns the function with which a worker process runs the text of a task.
RunTask plan_runner(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
