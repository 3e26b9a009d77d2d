#pragma once
// Processes that run a plan's tasks: forked ones on this machine, or MPI ranks elsewhere.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::plan {

/// Tasks that one process runs one after another.
struct Chunk {
  int id = 0;
  std::vector<std::string> tasks;  ///< Task::bytes()
  LOCKSTEP_FIELDS(id, tasks);
};

struct WorkerEvent {
  int chunk = 0;
  std::size_t task = 0;  ///< index in the chunk; at the chunk's end, that of the first unfinished task
  bool is_end = false;   ///< the process or rank has ended
  std::string outcome;   ///< Outcome::bytes(); at the end why the process died, empty if it ended normally
  LOCKSTEP_FIELDS(chunk, task, is_end, outcome);
};

/// Runs a task in a worker process. Returns false if this process cannot run it but another one can. `is_first`: it is
/// the first of its process.
using RunTask = std::function<bool(const std::string& task, bool is_first, std::string& outcome)>;

class Workers {
 public:
  virtual ~Workers() = default;
  /// Returns the number of chunks that can run at once. The next function returns how many could start now.
  virtual int slots() const = 0;
  virtual int free_slots() const = 0;
  virtual void start(const Chunk& chunk) = 0;
  /// Returns new events. If there are none, waits up to `timeout_ms`.
  virtual std::vector<WorkerEvent> wait(int timeout_ms) = 0;
};

/// Forks a process for each chunk, up to `jobs` at a time.
std::unique_ptr<Workers> local_workers(int jobs, RunTask run);

/// Runs tasks in the calling process, for programs that must not fork. It cannot simulate messages: SimGrid's engine
/// runs once per process.
std::unique_ptr<Workers> in_process_workers(RunTask run);

}  // namespace lockstep::sim::plan
