#pragma once
// Chooses the number of learners per GPU during training from the observed throughput (Koliousis et al. 2019,
// "Crossbow", Alg. 2, sections 3.4 and 4.4). For each GPU, l is the number of learners and t the previous throughput:
//
//   t' <- current throughput                  (batches per second; any unit)
//   if t' - t > threshold * t:  l <- l + 1
//   else if t' < t:             l <- l - 1
//   t <- t'
//
// Two interpretations of the paper. First, the tolerance threshold is a fraction of the previous throughput, and it
// applies to decreases as well; otherwise noise alone would remove learners. Second, the algorithm as written never
// stays at a peak. One learner too many lowers t', its removal raises t' again, and that adds the learner back. So
// after a removal, the next observation only becomes the new t. The number that proved too many is tried again only
// when the workload has changed. A sign of that is a throughput that moves by more than the threshold while the number
// stays the same.
namespace lockstep::sync {

struct TunerOptions {
  double threshold = 0.05;  ///< fraction of the previous throughput, > 0
  int most_learners = 16;   ///< the most that fit in the GPU's memory
};

/// The tuner's state for one GPU. A new GPU starts with one learner and no observation.
struct TunerState {
  int learners = 1;       ///< l, the number until the next observation
  double throughput = 0;  ///< t
  int too_many = 0;       ///< the smallest number that proved slower; 0: none
  int change = 0;         ///< the change of the last decision: +1, 0, -1
};

/// Decides for one GPU after `throughput` was observed with state.learners learners. The result's `learners` is the new
/// l. Throws std::invalid_argument if throughput <= 0, threshold <= 0 or most_learners < 1.
TunerState tune(const TunerOptions& options, const TunerState& state, double throughput);

}  // namespace lockstep::sync
