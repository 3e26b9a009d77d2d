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
#include <optional>
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

struct EaSgdOptions {
  int workers = 1;
  std::optional<double> alpha;  ///< in [0, 1]; none: 0.9 / workers
  double weight_decay = 0;
  int tau = 1;   ///< at least 1
  int gpus = 0;  ///< worker j lies on device j * gpus / workers, the centre on device 0; 0: worker j on device j
};

class EaSgd {
 public:
  /// Every worker and the centre start from `initial` (layout.count elements on the host).
  /// Throws std::invalid_argument: options out of range, a wrong number of elements.
  EaSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, const EaSgdOptions& options);

  /// One synchronous iteration of all workers.
  void step(double learning_rate, const GradientFunction& gradient);
  /// One iteration of one worker, on its own clock. The caller decides the order in which workers meet the centre.
  void async_step(int worker, double learning_rate, const GradientFunction& gradient);

  void visit_state(StateVisitor& state);

  double alpha() const { return alpha_; }
  const DeviceVector& center() const { return center_; }
  const DeviceVector& worker(int j) const { return workers_.at(static_cast<std::size_t>(j)).parameters; }

 private:
  struct Worker {
    DeviceVector parameters;  ///< w_j
    std::int64_t iteration;   ///< its own clock
  };
  bool exchanges(const Worker& worker) const { return (worker.iteration + 1) % options_.tau == 0; }

  VectorOps& ops_;
  Layout layout_;
  EaSgdOptions options_;
  double alpha_;
  std::vector<Worker> workers_;
  DeviceVector center_;  ///< z
  DeviceVector forces_;  ///< sum of alpha (w_j - z)
};

}  // namespace lockstep::sync
