#pragma once
// The centre of asynchronous training. Process 0 keeps a model. Every process has one worker. The workers visit the
// centre at their own pace, one at a time, and continue with the values that they take away. The algorithm
// (async_sgd.hpp, async_easgd.hpp) defines how a meeting changes the model.
//
// The staleness of a meeting is the number of other workers' meetings since this worker's previous one, when it took
// the values with which it computed. (Chen et al. 2016, "Revisiting distributed synchronous SGD", section 2, count
// updates between a read and the update by its gradient.) Over a stretch of M meetings of P workers its mean is P - 1,
// whatever the workers' speeds, except for the end of the stretch. Reason: every meeting counts once for each other
// worker, at that worker's next meeting, if it has one. After the stretch each worker comes at most once more, so the
// mean is between P - 1 - P (P - 1) / (2 M) and P - 1.
//
// Processes synchronise only at the ends of a stretch: begin() and end() are collective. Between them, exchange() is
// the only permitted call across processes. Process 0's worker computes as the others do; a separate thread answers all
// of them. So the order of meetings, and thus the trained model, varies from run to run.
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/sync/processes.hpp"

namespace lockstep::sync {

class Centre {
 public:
  /// Called in process 0, by its worker's thread and by the thread that answers the other workers, never by both at
  /// once. `x` has `n` numbers in host memory. The worker brings them; the function replaces them by those that it
  /// takes away.
  using Meet = std::function<void(float* x, double learning_rate)>;

  /// Throws std::invalid_argument for a single process, or if MPI allows calls from one thread only.
  Centre(Processes& processes, std::int64_t n, Meet meet);
  /// Ends a stretch that an exception has interrupted.
  ~Centre();
  Centre(const Centre&) = delete;
  Centre& operator=(const Centre&) = delete;

  /// Starts a stretch of at least `iterations` iterations of all workers together; all processes pass the same number.
  /// No worker begins another iteration after it has learned that they are done.
  void begin(std::int64_t iterations);
  /// This process's worker brings x after `iterations` iterations of its own. The values that it takes away replace
  /// x.
  void exchange(float* x, double learning_rate, std::int64_t iterations);
  /// Whether this process's worker should continue, and the iterations of all workers in this stretch, both as of the
  /// last exchange.
  bool goes_on() const { return goes_on_; }
  std::int64_t heard() const { return heard_; }
  /// Called by process 0's worker: ends the stretch after the iterations in progress.
  void stop();
  /// Ends the stretch and returns its number of iterations, the same in all processes.
  std::int64_t end();

  /// In process 0, for all stretches since clear_counts(): meetings by staleness, and iterations by process.
  const std::vector<std::int64_t>& meetings_by_staleness() const { return staleness_; }
  const std::vector<std::int64_t>& iterations_of() const { return iterations_of_; }
  void clear_counts();

 private:
  struct Answer {
    std::int64_t goes_on;
    std::int64_t done;
  };
  Answer meet(int process, float* x, double learning_rate, std::int64_t iterations);
  void serve();

  Processes& processes_;
  std::int64_t n_;
  Meet meet_;
  bool goes_on_ = false;
  std::int64_t heard_ = 0;

  // State of process 0, shared by its two threads.
  std::mutex mutex_;
  std::int64_t wanted_ = 0, done_ = 0;  ///< iterations of this stretch: requested, done
  std::int64_t meetings_ = 0;
  std::vector<std::int64_t> last_;  ///< by process: number of meetings at the last meeting of its worker
  std::vector<std::int64_t> staleness_, iterations_of_;
  std::exception_ptr failure_;
  std::thread server_;
};

}  // namespace lockstep::sync
