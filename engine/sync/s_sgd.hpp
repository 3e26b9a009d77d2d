#pragma once
// S-SGD, synchronous stochastic gradient descent with data parallelism (Koliousis et al. 2019, "Crossbow", section 2.3;
// Chen et al. 2016, "Revisiting distributed synchronous SGD", section 3).
//
// k replicas hold the same parameters; each computes a gradient on its own batch, and all apply the average:
//
//   g  = (1/k) sum_j g_j(w)
//   v <- mu v - gamma (g + lambda w);  w <- w + v        (or by another rule; see update.hpp)
//
// which is one replica with k times the batch, to rounding. Replicas stay identical bit by bit. Every device has its
// own copy of g, by an all-reduce over all replicas of all processes. With `bucket_bytes` parts of g are reduced while
// others are still computed (wait-free back-propagation; Poseidon, Zhang et al. 2017), to the same bits.
#include <optional>
#include <vector>

#include "engine/sync/mean_gradient.hpp"
#include "engine/sync/noise_scale.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/update.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class SSgd {
 public:
  /// `replicas` copies of `initial` in this process (layout.count elements on the host); replica j lies on device j.
  /// Throws std::invalid_argument: replicas < 1, a wrong number of elements, options out of range.
  /// `bucket_bytes`: gradients collect in the order of back-propagation until they are as many, 0: a layer's at once;
  /// none: all are sent after it. Without effect where there is more than one replica in this process.
  SSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, UpdateOptions options = {},
       std::optional<std::int64_t> bucket_bytes = std::nullopt);

  /// One iteration: asks every replica for its gradient, averages, updates; where `gradient` is to be judged, only if
  /// the mean is finite, which all replicas of all processes find alike, since theirs are the same bits.
  void step(double learning_rate, const GradientFunction& gradient);

  /// From here on every step is measured, with `images` per replica. Waits for the gradients of each. `processes` are
  /// those of the run and must outlive this. Throws std::invalid_argument for a single replica in all processes.
  void start_noise_meter(Processes& processes, std::int64_t images);
  /// Null: not started.
  NoiseMeter* noise_meter() { return noise_ ? &noise_->meter : nullptr; }

  void visit_state(StateVisitor& state);

  int replicas() const { return static_cast<int>(parameters_.size()); }
  std::int64_t iteration() const { return iteration_; }
  const DeviceVector& parameters(int replica) const { return parameters_.at(static_cast<std::size_t>(replica)); }

 private:
  struct Gradients {
    std::vector<const float*> own;    ///< by replica
    std::vector<const float*> means;  ///< every replica's copy of g
  };
  Gradients gradients_of(const GradientFunction& gradient);

  VectorOps& ops_;
  Layout layout_;
  std::optional<std::int64_t> bucket_bytes_;
  std::vector<DeviceVector> parameters_;  ///< w, one per replica
  std::vector<Updater> updaters_;         ///< one per replica
  MeanGradient mean_;                     ///< g
  std::int64_t iteration_ = 0;
  struct Noise {
    Processes* processes;
    NoiseMeter meter;
  };
  std::optional<Noise> noise_;
};

}  // namespace lockstep::sync
