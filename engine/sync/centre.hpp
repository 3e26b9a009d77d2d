#pragma once
// The centre of asynchronous training: process 0 keeps a model, to which the workers of all processes, one each, come at
// their own pace, one after the other, and go on with what they take away. What is made of a model there is the
// algorithm's (async_sgd.hpp, async_easgd.hpp).
//
// A worker's meetings are told apart by how old what it brings is: its staleness is the number of meetings of others
// since its own last one, when it took away what it has computed from. (Chen et al. 2016, "Revisiting distributed
// synchronous SGD", section 2: updates between a read and the update by its gradient.) Whatever the workers' speeds, the
// mean over a stretch of M meetings of P workers is P - 1 but for its end: every meeting counts once for each other
// worker, at that one's next meeting, unless it has none any more. Once the stretch is over each worker comes at most
// once more, so that the mean lies between P - 1 - P (P - 1) / (2 M) and P - 1.
//
// Processes are in step at the ends of a stretch only: begin() and end() are collective, and between them no other call
// over processes is made but exchange(). Process 0's worker computes as all others do; a thread of its own answers them.
// So the order of the meetings, and with it what is trained, is not the same from run to run.
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
  /// In process 0: `x`, `n` numbers in host memory that a worker has brought, becomes what it takes away. Called for one
  /// worker at a time, from two threads.
  using Meet = std::function<void(float* x, double learning_rate)>;

  /// Throws std::invalid_argument: a single process, or one whose threads may not take turns in calls over processes.
  Centre(Processes& processes, std::int64_t n, Meet meet);
  /// Ends a stretch that an exception has cut off.
  ~Centre();
  Centre(const Centre&) = delete;
  Centre& operator=(const Centre&) = delete;

  /// A stretch of at least `iterations` more of all workers together, the same number everywhere: none begins another
  /// after it has heard that they are done.
  void begin(std::int64_t iterations);
  /// This process's worker brings x after so many iterations of its own, and takes away what it is replaced by.
  void exchange(float* x, double learning_rate, std::int64_t iterations);
  /// Whether this process's worker is to go on, and all iterations of the stretch, as it last heard.
  bool goes_on() const { return goes_on_; }
  std::int64_t heard() const { return heard_; }
  /// By process 0's worker: the stretch ends with what is under way.
  void stop();
  /// Iterations of the stretch, the same number everywhere.
  std::int64_t end();

  /// In process 0, of all stretches since they were cleared: meetings by their staleness, and iterations by process.
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

  // Of process 0, shared by its two threads.
  std::mutex mutex_;
  std::int64_t wanted_ = 0, done_ = 0;  ///< iterations of this stretch
  std::int64_t meetings_ = 0;
  std::vector<std::int64_t> last_;  ///< meetings when a process's worker had its last one
  std::vector<std::int64_t> staleness_, iterations_of_;
  std::exception_ptr failure_;
  std::thread server_;
};

}  // namespace lockstep::sync
