#pragma once
// The number of learners per GPU, chosen at run time from the observed training throughput (Koliousis et al. 2019,
// "Crossbow", Alg. 2, sections 3.4 and 4.4). For each GPU, with l learners and t the throughput observed before:
//
//   t' <- current throughput                  (batches per second; any unit)
//   if t' - t > threshold * t:  l <- l + 1
//   else if t' < t:             l <- l - 1
//   t <- t'
//
// Two readings of the text. The tolerance threshold is a fraction of the previous throughput, and is asked of decreases
// as well, or noise alone would take learners away. And, taken literally, a peak never holds: one learner too many
// lowers t', removing it raises t' again, which adds it back. After a removal the next observation therefore only
// becomes the new t, and the number that proved too many is not tried again until the throughput at an unchanged number
// has moved by more than the threshold: the workload is then another one.
namespace lockstep::sync {

struct TunerOptions {
  double threshold = 0.05;  ///< of the previous throughput, > 0
  int most_learners = 16;   ///< what fits in the GPU's memory
};

/// What is known of one GPU. A new GPU starts with one learner and nothing observed.
struct TunerState {
  int learners = 1;       ///< l, to run until the next observation
  double throughput = 0;  ///< t
  int too_many = 0;       ///< the smallest number that proved slower; 0: none
  int change = 0;         ///< what the last decision changed: +1, 0, -1
};

/// The decision for one GPU after observing `throughput` with state.learners learners; state.learners of the result is
/// l from now on. Throws std::invalid_argument: throughput <= 0, threshold <= 0, most_learners < 1.
TunerState tune(const TunerOptions& options, const TunerState& state, double throughput);

}  // namespace lockstep::sync
