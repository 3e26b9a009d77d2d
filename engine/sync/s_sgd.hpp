#pragma once
// S-SGD, synchronous stochastic gradient descent with data parallelism (Koliousis et al. 2019, "Crossbow", section 2.3;
// Chen et al. 2016, "Revisiting distributed synchronous SGD", section 3).
//
// k replicas hold the same parameters. Each computes a gradient on its own batch, and all apply the average:
//
//   g  = (1/k) sum_j g_j(w)
//   v <- mu v - gamma (g + lambda w);  w <- w + v        (or by another rule; see update.hpp)
//
// This equals one replica with k times the batch, except for rounding. Replicas stay bit-identical. Every device has
// its own copy of g, from an all-reduce over all replicas of all processes. With `bucket_bytes`, parts of g are reduced
// while others are still computed (wait-free back-propagation; Poseidon, Zhang et al. 2017), with the same bits.
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
  /// `replicas` is the number in this process, each a copy of `initial` (layout.count elements on the host); replica j
  /// is on device j. With `bucket_bytes`, gradients are collected in the order of back-propagation and sent when they
  /// reach that size; 0 sends each layer's at once; none sends all after the pass. It has no effect with more than one
  /// replica in this process. Throws std::invalid_argument if replicas < 1, for a wrong number of elements, or for
  /// options out of range.
  SSgd(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, UpdateOptions options = {},
       std::optional<std::int64_t> bucket_bytes = std::nullopt);

  /// Runs one iteration: computes every replica's gradient, averages, updates. If `gradient` is to be judged, updates
  /// only if the mean is finite. All replicas of all processes decide the same, because their means are bit-identical.
  void step(double learning_rate, const GradientFunction& gradient);

  /// Measures every later step, with `images` per replica, and waits for the gradients of each. `processes` are those
  /// of the run and must outlive this object. Throws std::invalid_argument if the run has a single replica.
  void start_noise_meter(Processes& processes, std::int64_t images);
  /// Null unless started.
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
