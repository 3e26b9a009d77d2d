#pragma once
// EA-SGD, elastic averaging SGD (Zhang, Choromanska & LeCun 2015; the asynchronous form in Ma, Mao & Taylor 2016,
// "Theano-MPI", section 4). SMA's ancestor: the same elastic force between workers and centre, no momentum on z.
//
// Synchronous, in every tau-th iteration, right-hand sides taken at its beginning:
//
//   w_j <- w_j - gamma (g_j + lambda w_j) - alpha (w_j - z)
//   z   <- z + sum_j alpha (w_j - z)
//
// and w_j <- w_j - gamma (g_j + lambda w_j) in the others. alpha = beta / k with beta = 0.9, as its authors, unless
// given; alpha k <= 1 keeps z inside the workers' hull.
//
// Asynchronous: each worker j counts its own iterations; before each tau-th it exchanges with the centre alone,
//
//   e = alpha (w_j - z);  w_j <- w_j - e;  z <- z + e
//
// then steps with the gradient taken at w_j as it was before the exchange. Theano-MPI's best for AlexNet on 8 GPUs:
// alpha 0.5, tau 1.
//
// The sum over the workers goes first over those of a device, then over the devices and processes: with one worker
// each, the order of a single device.
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
  /// Worker j lies on device j * gpus / workers, and every device has a copy of the centre; 0: worker j lies on device
  /// j, the only centre on device 0.
  int gpus = 0;
};

class EaSgd {
 public:
  /// Every worker and the centre start from `initial` (layout.count elements on the host).
  /// Throws std::invalid_argument: options out of range, a wrong number of elements.
  EaSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const EaSgdOptions& options);

  /// One synchronous iteration of all workers, in all processes.
  void step(double learning_rate, const GradientFunction& gradient);
  /// One iteration of one worker, on its own clock, in a single process. The caller decides the order in which workers
  /// meet the centre.
  void async_step(int worker, double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  double alpha() const { return alpha_; }
  const DeviceVector& center() const { return gpus_.front().center; }
  const DeviceVector& worker(int j) const { return workers_.at(static_cast<std::size_t>(j)).parameters; }

 private:
  struct Worker {
    DeviceVector parameters;  ///< w_j
    std::int64_t iteration;   ///< its own clock
  };
  struct Gpu {
    DeviceVector center;  ///< z, the same everywhere
    DeviceVector forces;  ///< sum of alpha (w_j - z)
  };
  bool exchanges(const Worker& worker) const { return (worker.iteration + 1) % options_.tau == 0; }
  int gpu_of(int worker) const { return worker * std::max(1, options_.gpus) / options_.workers; }
  /// The first device's centre to all others.
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
