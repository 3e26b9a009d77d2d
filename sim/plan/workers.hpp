#pragma once
// Processes that work through a plan's tasks: forked ones on this machine, and MPI ranks elsewhere.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::plan {

/// Tasks that one process runs one after the other.
struct Chunk {
  int id = 0;
  std::vector<std::string> tasks;  ///< Task::text()
};

struct WorkerEvent {
  int chunk = 0;
  std::size_t task = 0;  ///< index in the chunk; at the chunk's end the first that was not done
  bool is_end = false;   ///< the process has ended, or its rank
  std::string outcome;   ///< Outcome::text(); at the end: why the process died, empty where it ended by itself
};

/// Runs a task in a worker process; false: not in this process, but another can. `is_first` in its process.
using RunTask = std::function<bool(const std::string& task, bool is_first, std::string& outcome)>;

class Workers {
 public:
  virtual ~Workers() = default;
  /// Chunks that can run at once, and how many of them could be started now.
  virtual int slots() const = 0;
  virtual int free_slots() const = 0;
  virtual void start(const Chunk& chunk) = 0;
  /// What has happened since; waits up to `timeout_ms` where nothing has.
  virtual std::vector<WorkerEvent> wait(int timeout_ms) = 0;
};

/// Forked processes, up to `jobs` at a time; one per chunk.
std::unique_ptr<Workers> local_workers(int jobs, RunTask run);

/// The calling process alone, for programs that must not fork. It cannot simulate messages, whose engine runs once in a
/// process.
std::unique_ptr<Workers> in_process_workers(RunTask run);

}  // namespace lockstep::sim::plan
