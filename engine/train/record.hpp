#pragma once
// The record of a run, schema lockstep/run/1:
//
//   schema, provenance, options (as resolved), backend {name, description, devices, slow_paths (operations that
//   run more slowly than the device allows, with the reason; see device::Replica), self_check (result of the
//   comparisons with sums by the definition; only if there were any)}, model {name, parameters},
//   data {name, train_images, test_images},
//   epochs: [{epoch, iterations, images, learning_rate, train_loss, test_accuracy, epoch_s, train_s, samples_per_s,
//   ...}]
//     iterations, images and train_s are totals since the run began. Seconds are those of training, without
//     evaluation, checkpoints and set-up; they continue across --resume. images are those whose gradients were used.
// samples_per_s is null for an epoch without an iteration: one iteration may use more images than an epoch has
//     asynchronous processes (async-easgd, async-sgd --own-pace) also have staleness {mean, max, histogram:
//     [[staleness, meetings], ...]} (sync/centre.hpp) and iterations_of_processes
//     with --noise-scale also noise_scale {steps (iterations measured), blocks, gradient_square, covariance_trace
//     (means over the epoch's iterations), gradient_square_variance, covariance_trace_variance, shared_covariance
//     (of these means; null for fewer than 2 blocks), critical_batch, low, high (images; 80 % interval; null if
//     undetermined)}; see sync/noise_scale.hpp. With several evaluations per epoch, each of them has these since
//     the previous one, and the epoch has their mean as `noise_scale` below
//   evaluations: only with several per epoch: [{epoch, iterations, images, train_s, test_accuracy}], each epoch's own
//     one among them; `epoch` is images over training images, a real number
//   tuned: only with --auto-tune and --auto-tune-from: [{iteration, gpu, learners}], the number of learners of a GPU
//     in each process from that iteration on
//   status: running, epochs done, target reached, time is up, diverged
//   target, epochs_to_target, iterations_to_target, seconds_to_target: of the first evaluation whose test accuracy
//     reaches the target, else null
//   median_of_5 {epochs_to_target, seconds_to_target}: the same for the median test accuracy of the last 5 epochs
//     (Crossbow, section 5.1)
//   noise_scale {steps, critical_batch, low, high}: only with --noise-scale: mean over epochs, or over evaluations if
//     there are several per epoch, weighted by progress (sync/noise_scale.hpp)
//   best_test_accuracy, final_test_accuracy, train_s, resumed (how often), parameters_sha256 (of the trained model),
//   memory {parameters_bytes, replica_bytes and evaluation_bytes (memory that the learners' and the evaluation's
//   replicas own), activation_bytes (actual size of one learner's outputs and their gradients, to compare with
//   plan.offline_bytes), shared_bytes (actual memory that learners and evaluation use in turn, workspaces included,
//   to compare with plan.turns_bytes; 0 if each has its own), process_peak_bytes, plan (see memory_report.hpp)}
#include <chrono>
#include <optional>
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::train {

/// The epoch or evaluation that reached a target.
struct Reached {
  Json epoch;  ///< an integer, or for an evaluation a real number
  std::int64_t iterations = 0;
  double seconds = 0;  ///< seconds of training since the start of the run
};

/// The first entry with a test accuracy of at least `target`. `entries` are the record's epochs or evaluations.
std::optional<Reached> first_reached(const Json& entries, double target);
/// The first epoch, at the earliest the fifth, at which the median of the last 5 test accuracies is at least `target`.
std::optional<Reached> median_reached(const Json& epochs, double target);

/// Adds the fields that follow from the epochs and evaluations (empty: one per epoch): accuracies, and epochs,
/// iterations and seconds to the target.
void add_outcome(Json& record, const Json& epochs, const Json& evaluations, const std::optional<double>& target);

/// Returns the peak resident memory of this process so far, in bytes.
std::int64_t process_peak_bytes();

inline double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace lockstep::train
