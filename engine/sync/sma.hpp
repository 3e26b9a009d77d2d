#pragma once
// SMA, synchronous model averaging (Koliousis et al. 2019, "Crossbow: scaling deep learning with small batch sizes on
// multi-GPU servers", Alg. 1 and sections 3.2, 3.3, 4.2).
//
// k learners train replicas w_j, each on its own batches; a central average model z, the one that is evaluated, keeps
// them together. One iteration, every right-hand side taken at its beginning:
//
//   g_j = gamma (gradient of learner j at w_j, + lambda w_j)
//   c_j = alpha (w_j - z)                                        correction
//   w_j <- w_j - g_j - c_j
//   z   <- z + sum_j c_j + mu (z - z_prev)                       Polyak's momentum, on the average model only
//
// with alpha = 1/k unless given: z moves to the mean of the replicas, plus momentum. What the corrections take from
// the replicas is what z receives, so that with mu = 0 only gradients change z + sum_j w_j.
//
// One learner (k = 1). With no synchronisation, or alpha = 0, the replica follows plain SGD exactly. Alg. 1 with
// alpha = 1 does not: there w' = z - g(w) and z' = w + mu (z - z_prev), so without momentum w(t+1) = w(t-1) - g(w(t)),
// a leapfrog whose characteristic roots have product -1: one lies outside the unit circle for every gamma > 0, and it
// diverges on a quadratic. Momentum 0.9 makes it converge again. Callers that train a single learner without momentum
// give an alpha below 1.
//
// Learners on several GPUs.
//   kOneAverage (section 4.2): every GPU keeps a copy of the one average model; differences are summed within a GPU,
//     then over GPUs by all-reduce. This is Alg. 1 over all learners, in another order of summation.
//   kReferencePerGpu (section 3.3, Fig. 6): GPU p keeps a reference model r_p, which is the z of its own learners; GPU
//     0's reference (process 0's, where there are several) is the average model, and the others are replicas of it that
//     have no gradients:
//       r_p <- r_p + sum_{j on p} alpha (w_j - r_p) - alpha (r_p - z)       for p > 0
//       z   <- z + sum_{j on 0} alpha (w_j - z) + sum_{p>0} alpha (r_p - z) + mu (z - z_prev)
//     with alpha = 1 / (learners per GPU + GPUs - 1) unless given: one over the number of models that pull on z. On one
//     GPU it is Alg. 1. Every GPU keeps a copy of z, too, and what z receives is summed by all-reduce, so that no GPU
//     waits for GPU 0's memory and the GPUs may be those of several processes.
//
// Overlap (section 4.2): the next gradients are taken at the w_j, which the local synchronisation has left as they will
// be; the global one, of the r_p and z, goes on beside them (VectorOps::beside_gradients()).
//
// tau (section 5.5): learners synchronise in every tau-th iteration and follow plain SGD in the others, where z and the
// references rest; tau = kNever leaves them independent.
//
// Restart (section 3.2): a lower learning rate finds replicas that disagree, so Alg. 1 begins anew from z: every w_j,
// every r_p and z_prev become z. The paper speaks of step-wise reductions; step() therefore restarts when the rate
// falls by more than `restart_drop` of itself from one iteration to the next. A rate that goes down to 0 gradually
// falls by as much in each of its last iterations, which would train no more: callers with such a schedule give 1.
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
  double restart_drop = 0.1;    ///< in (0, 1]; 1: restart() by hand only
  int rank = 0;                 ///< of this process among ops.processes(), each with `gpus` GPUs
};

class Sma {
 public:
  /// Every learner starts from `initial` (layout.count elements on the host).
  /// Throws std::invalid_argument: options out of range, a wrong number of elements.
  Sma(VectorOps& ops, Layout layout, const std::vector<float>& initial, const SmaOptions& options);

  /// One iteration of Alg. 1.
  void step(double learning_rate, const GradientFunction& gradient);
  /// Alg. 1 begins anew with the average model as the initial one.
  void restart();

  /// A learner more on `gpu`, its replica a copy of that GPU's average model (section 4.4). It gets the highest number.
  void add_learner(int gpu);
  /// Removes the youngest learner of `gpu`; later ones move up by one. Throws std::invalid_argument for the last one.
  void remove_learner(int gpu);

  /// Restoring takes over how many learners there are, and on which GPUs.
  void visit_state(StateVisitor& state);

  int learners() const { return static_cast<int>(learners_.size()); }
  /// Those of all processes; this one has learners() of them.
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
  /// Sum of the corrections that z received in the last synchronisation.
  const DeviceVector& corrections() const { return gpus_.front().corrections; }

 private:
  struct Learner {
    int gpu;
    DeviceVector replica;  ///< w_j
  };
  /// Of a GPU whose learners do not pull on z itself.
  struct Reference {
    DeviceVector model;        ///< r_p
    DeviceVector corrections;  ///< sum of those of its learners
  };
  struct Gpu {
    DeviceVector average;      ///< z, the same everywhere
    DeviceVector previous;     ///< z_prev
    DeviceVector corrections;  ///< what z receives from this GPU, then what it received from all
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
