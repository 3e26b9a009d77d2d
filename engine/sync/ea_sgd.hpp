#pragma once
// EA-SGD, elastic averaging SGD (Zhang, Choromanska & LeCun 2015; the asynchronous form in Ma, Mao & Taylor 2016,
// "Theano-MPI", section 4). SMA derives from it. EA-SGD has the same elastic force between workers and centre, but no
// momentum on z.
//
// Synchronous form. In every tau-th iteration, with right-hand sides from its beginning:
//
//   w_j <- w_j - gamma (g_j + lambda w_j) - alpha (w_j - z)
//   z   <- z + sum_j alpha (w_j - z)
//
// In other iterations w_j <- w_j - gamma (g_j + lambda w_j). Unless given, alpha = beta / k with its authors' beta =
// 0.9; alpha k <= 1 keeps z inside the workers' convex hull.
//
// Asynchronous form. Each worker j counts its own iterations. Before each tau-th it exchanges with the centre, one
// worker at a time:
//
//   e = alpha (w_j - z);  w_j <- w_j - e;  z <- z + e
//
// Then it steps with the gradient at the w_j from before the exchange. Theano-MPI's best values for AlexNet on 8 GPUs
// are alpha 0.5 and tau 1.
//
// Workers are summed first on each device, then over devices and processes. With one worker per device, the order is
// that of a single device.
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

constexpr double kElasticBeta = 0.9;  ///< Zhang et al. 2015, section 5: alpha = 0.9 / p

struct EaSgdOptions {
  int workers = 1;              ///< of this process
  std::optional<double> alpha;  ///< in [0, 1]; none: 0.9 / workers of all processes
  double weight_decay = 0;
  int tau = 1;  ///< at least 1
  /// With gpus > 0, worker j is on device j * gpus / workers, and every device has a copy of the centre. With 0, worker
  /// j is on device j, and the only centre is on device 0.
  int gpus = 0;
};

class EaSgd {
 public:
  /// Every worker and the centre start from `initial` (layout.count elements on the host). Throws std::invalid_argument
  /// for options out of range or a wrong number of elements.
  EaSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const EaSgdOptions& options);

  /// Runs one synchronous iteration of all workers, in all processes.
  void step(double learning_rate, const GradientFunction& gradient);
  /// Runs one iteration of one worker, in a single process; each worker counts its own iterations. The caller chooses
  /// the order in which workers exchange with the centre.
  void async_step(int worker, double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  double alpha() const { return alpha_; }
  const DeviceVector& center() const { return gpus_.front().center; }
  const DeviceVector& worker(int j) const { return workers_.at(static_cast<std::size_t>(j)).parameters; }

 private:
  struct Worker {
    DeviceVector parameters;  ///< w_j
    std::int64_t iteration;   ///< its own count
  };
  struct Gpu {
    DeviceVector center;  ///< z, the same everywhere
    DeviceVector forces;  ///< sum of alpha (w_j - z)
  };
  bool exchanges(const Worker& worker) const { return (worker.iteration + 1) % options_.tau == 0; }
  int gpu_of(int worker) const { return worker * std::max(1, options_.gpus) / options_.workers; }
  /// Copies the first device's centre to all other devices.
  void copy_center();
  void meet(double learning_rate, const std::vector<const float*>& gradients);

  VectorOps& ops_;
  Layout layout_;
  EaSgdOptions options_;
  double alpha_;
  std::vector<Worker> workers_;
  std::vector<Gpu> gpus_;
};

}  // namespace lockstep::sync
