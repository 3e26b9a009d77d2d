#pragma once
// SMA, synchronous model averaging (Koliousis et al. 2019, "Crossbow: scaling deep learning with small batch sizes on
// multi-GPU servers", Alg. 1 and sections 3.2, 3.3, 4.2).
//
// Here k learners train replicas w_j, each on its own batches. The central average model z keeps them together; z is
// the model that is evaluated. One iteration, with all right-hand sides from its beginning:
//
//   g_j = gamma (gradient of learner j at w_j, + lambda w_j)
//   c_j = alpha (w_j - z)                                        correction
//   w_j <- w_j - g_j - c_j
//   z   <- z + sum_j c_j + mu (z - z_prev)                       Polyak's momentum, on the average model only
//
// Unless given, alpha = 1/k: z moves to the mean of the replicas, plus momentum. z receives exactly the corrections
// that are taken from the replicas, so with mu = 0 only gradients change z + sum_j w_j.
//
// One learner (k = 1). Without synchronisation, or with alpha = 0, the replica follows plain SGD exactly. With alpha =
// 1, Alg. 1 does not. There w' = z - g(w) and z' = w + mu (z - z_prev), so without momentum w(t+1) = w(t-1) - g(w(t)).
// That is a leapfrog whose characteristic roots have product -1. So one root is outside the unit circle for every gamma
// > 0, and the iteration diverges on a quadratic. Momentum 0.9 makes it converge again. Callers that train a single
// learner without momentum pass an alpha below 1.
//
// Learners on several GPUs.
//   kOneAverage (section 4.2): every GPU keeps a copy of the one average model; differences are summed within a GPU,
//     then over GPUs by all-reduce. This is Alg. 1 over all learners, in another order of summation.
//   kReferencePerGpu (section 3.3, Fig. 6): GPU p keeps a reference model r_p, which acts as z for its own learners.
//     GPU 0's reference (process 0's, if there are several) is the average model. The others are replicas of it that
//     have no gradients:
//       r_p <- r_p + sum_{j on p} alpha (w_j - r_p) - alpha (r_p - z)       for p > 0
//       z   <- z + sum_{j on 0} alpha (w_j - z) + sum_{p>0} alpha (r_p - z) + mu (z - z_prev)
//     Unless given, alpha = 1 / (learners per GPU + GPUs - 1), one over the number of models that pull on z. On one
//     GPU this is Alg. 1. Every GPU also keeps a copy of z, and the corrections of z are summed by all-reduce. So no
//     GPU waits for GPU 0's memory, and the GPUs may belong to several processes.
//
// Overlap (section 4.2). The local synchronisation completes the w_j, at which the next gradients are computed. The
// global one, of the r_p and z, runs in parallel with these gradients (VectorOps::beside_gradients()).
//
// tau (section 5.5). Learners synchronise in every tau-th iteration. In the others they follow plain SGD, and z and the
// references stay unchanged. tau = kNever keeps learners independent.
//
// Restart (section 3.2). When the learning rate falls, the replicas disagree, so Alg. 1 starts again from z: every w_j,
// every r_p and z_prev become z. The paper speaks of step-wise reductions. So step() restarts if the rate falls by more
// than the fraction `restart_drop` from one iteration to the next. A rate that decays gradually to 0 falls by that much
// in each of its last iterations, and restarts would then prevent training. Callers with such a schedule pass 1.
#include <optional>
#include <vector>

#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

enum class Averaging { kOneAverage, kReferencePerGpu };

constexpr int kNever = 0;

struct SmaOptions {
  int gpus = 1;
  int learners_per_gpu = 1;
  Averaging averaging = Averaging::kOneAverage;
  std::optional<double> alpha;  ///< in [0, 1]; none: see above
  double momentum = 0.9;        ///< mu, in [0, 1)
  double weight_decay = 0;      ///< lambda
  int tau = 1;                  ///< iterations per synchronisation, or kNever
  double restart_drop = 0.1;    ///< fall of the learning rate at which step() restarts; 1: never
  int rank = 0;                 ///< of this process among ops.processes(), each with `gpus` GPUs
};

class Sma {
 public:
  /// Every learner starts from `initial` (layout.count elements on the host). Throws std::invalid_argument for options
  /// out of range or a wrong number of elements.
  Sma(VectorOps& ops, Layout layout, const std::vector<float>& initial, const SmaOptions& options);

  /// Runs one iteration of Alg. 1.
  void step(double learning_rate, const GradientFunction& gradient);
  /// Starts Alg. 1 again, with the average model as the initial one.
  void restart();

  /// Adds a learner on `gpu`, whose replica is a copy of that GPU's average model (section 4.4). It gets the highest
  /// index.
  void add_learner(int gpu);
  /// Removes the newest learner of `gpu`; the indices of later ones decrease by one. Throws std::invalid_argument if it
  /// is the GPU's last one.
  void remove_learner(int gpu);

  /// Restoring also sets the number of learners and their GPUs.
  void visit_state(StateVisitor& state);

  int learners() const { return static_cast<int>(learners_.size()); }
  /// The number of learners in all processes; learners() counts those of this process.
  int all_learners() const { return learners() * ops_.processes(); }
  int learners_on(int gpu) const;
  int gpu_of(int learner) const { return learners_.at(static_cast<std::size_t>(learner)).gpu; }
  std::int64_t iteration() const { return iteration_; }
  std::int64_t restarts() const { return restarts_; }
  double alpha() const;
  /// z, the trained model.
  const DeviceVector& average() const { return gpus_.front().average; }
  /// GPU p's copy of z (kOneAverage) or its reference model r_p.
  const DeviceVector& reference(int gpu) const;
  const DeviceVector& replica(int learner) const { return learners_.at(static_cast<std::size_t>(learner)).replica; }
  /// The sum of the corrections that z received in the last synchronisation.
  const DeviceVector& corrections() const { return gpus_.front().corrections; }

 private:
  struct Learner {
    int gpu;
    DeviceVector replica;  ///< w_j
  };
  /// r_p of a GPU whose learners do not correct z directly.
  struct Reference {
    DeviceVector model;        ///< r_p
    DeviceVector corrections;  ///< sum of its learners' corrections
  };
  struct Gpu {
    DeviceVector average;      ///< z, the same everywhere
    DeviceVector previous;     ///< z_prev
    DeviceVector corrections;  ///< this GPU's contribution to z, then that of all GPUs
    std::optional<Reference> reference;
  };
  bool synchronises() const;
  void update_independently(double learning_rate, const std::vector<const float*>& gradients);
  void synchronise_learners(double learning_rate, const std::vector<const float*>& gradients);
  void pull_reference(Gpu& gpu);
  void synchronise_globally();

  VectorOps& ops_;
  Layout layout_;
  SmaOptions options_;
  std::vector<Learner> learners_;
  std::vector<Gpu> gpus_;
  std::optional<double> last_learning_rate_;
  std::int64_t iteration_ = 0;
  std::int64_t restarts_ = 0;
};

}  // namespace lockstep::sync
