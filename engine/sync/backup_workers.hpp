#pragma once
// Backup workers (Chen et al. 2016, "Revisiting distributed synchronous SGD", section 3, Algs. 3 and 4).
//
// N + b workers compute gradients of the same parameters. The update uses the first N that arrive and drops the other
// b. So no gradient is stale, and the slowest machines do not determine the speed:
//
//   g = (1/N) sum over the N first;  v <- mu v - gamma (g + lambda w);  w <- w + v
//
// Time is simulated: the delay of worker j's gradient in step t is drawn at random. A worker that is late for step t
// finishes, its gradient is dropped, and it reads the newest parameters (Alg. 3). With `interrupted`, it stops and
// starts with everyone else.
#include <cstdint>
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

/// Seconds per gradient: shift_s + scale_s * X.
struct DelayDistribution {
  enum class Kind {
    kLognormal,  ///< X = exp(shape * normal): median 1
    kGamma,      ///< X has the density x^(shape-1) exp(-x) / Gamma(shape), mean `shape`; shape 1 is the exponential
    kPareto      ///< P(X > x) = x^-shape for x >= 1: a heavy tail of stragglers
  };
  Kind kind = Kind::kLognormal;
  double scale_s = 1;
  double shape = 0.1;
  double shift_s = 0;
};

/// The delay of `worker` in step `step`, in seconds. It depends only on the arguments.
double draw_delay(const DelayDistribution& delay, std::uint64_t seed, int worker, std::int64_t step);

struct BackupOptions {
  int workers = 1;  ///< N
  int backups = 0;  ///< b
  DelayDistribution delay;
  std::uint64_t seed = 1;
  bool interrupted = false;  ///< late workers abandon their gradient as soon as there are new parameters
  /// The rank of this process among P = ops.processes(). It runs the workers from ceil(rank (N + b) / P) up to the next
  /// process's first. All processes draw the same delays, so they know without communication who was late.
  int rank = 0;
};

/// The outcome of one step.
struct BackupStep {
  double duration_s;         ///< from the publication of the parameters to the N-th gradient
  std::vector<int> used;     ///< N workers in the order of arrival
  std::vector<int> dropped;  ///< the other b in the order in which they would arrive
};

class BackupWorkers {
 public:
  /// Throws std::invalid_argument if N < 1, b < 0, scale or shape <= 0 or the shift is negative. Also throws for update
  /// options out of range, a wrong number of elements, or fewer workers than processes.
  BackupWorkers(VectorOps& ops, Layout layout, const std::vector<float>& initial, const BackupOptions& backup,
                UpdateOptions options = {});

  /// Runs one step. Calls `gradient` only for workers of this process whose gradients are used, numbered from its first
  /// worker. The batches of the others are lost, as in the paper. Gradients are added in the order of the workers'
  /// numbers.
  BackupStep step(double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  /// This process runs `own_workers()` workers, from number `first_worker()` on.
  int first_worker() const { return first_; }
  int own_workers() const { return own_; }
  std::int64_t iteration() const { return iteration_; }
  double time_s() const { return time_s_; }  ///< simulated time since the first step began
  const DeviceVector& parameters() const { return parameters_; }

 private:
  BackupStep race();
  bool is_own(int worker) const { return worker >= first_ && worker < first_ + own_; }
  /// Averages the gradients of all processes into average_.
  void average(const std::vector<const float*>& gradients);

  VectorOps& ops_;
  Layout layout_;
  BackupOptions backup_;
  int first_;
  int own_;
  DeviceVector parameters_;
  Updater updater_;
  DeviceVector average_;
  std::vector<double> busy_until_s_;  ///< of each worker
  double time_s_ = 0;
  std::int64_t iteration_ = 0;
};

}  // namespace lockstep::sync
