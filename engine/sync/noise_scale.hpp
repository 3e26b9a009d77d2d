#pragma once
// The gradient noise scale: the batch at which a gradient's noise is as large as the gradient (McCandlish et al. 2018,
// "An empirical model of large-batch training", equation 2.8 and appendix A.1).
//
// Let k workers compute gradients g_j over b images each. Their mean is a gradient over B = k b images. In each
// iteration
//
//   small = (1/k) sum_j |g_j|^2               large = |(1/k) sum_j g_j|^2
//   G2 = (B large - b small) / (B - b)        estimates |G|^2, the squared norm of the expected gradient
//   S  = (small - large) / (1/b - 1/B)        estimates the trace of the covariance of one image's gradient
//
// Both are unbiased. The noise scale is mean S / mean G2 over iterations, because a mean of ratios would be biased. It
// is the critical batch in images: at that batch, training needs twice the minimum number of iterations.
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sync/processes.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::sync {

/// Means over iterations, with the covariance of these means.
struct GradientNoise {
  std::int64_t steps = 0;
  int blocks = 0;               ///< number of blocks of consecutive iterations; the variances below need two
  double gradient_square = 0;   ///< G2
  double covariance_trace = 0;  ///< S
  double gradient_square_variance = 0;
  double covariance_trace_variance = 0;
  double shared_covariance = 0;  ///< of the means of G2 and S
};

/// In images. The interval is for the ratio of expected values, by Fieller's theorem with Student's t.
struct NoiseScale {
  std::optional<double> batch;  ///< S / G2; none: G2 is not above 0
  double low = 0;
  std::optional<double> high;  ///< none: G2 may be 0, so the noise scale has no upper bound
};
inline constexpr double kNoiseScaleCoverage = 0.8;
NoiseScale noise_scale(const GradientNoise& noise, double coverage = kNoiseScaleCoverage);

struct NoiseStretch {
  double steps = 0;
  NoiseScale scale;
};

/// The noise scale of a run at `batch` images: the mean over its iterations, weighted by their progress. At noise scale
/// N, an iteration makes 1 / (1 + N / batch) of the progress of a noiseless one (equation 2.7). So a run of S
/// iterations would need S / (1 + mean / batch) without noise. Undetermined if any stretch is.
NoiseScale mean_by_progress(const std::vector<NoiseStretch>& stretches, double batch);

/// Collects the squares of iterations as sums in up to 32 blocks. When all are full, pairs are merged.
class NoiseMeter {
 public:
  /// Throws std::invalid_argument unless 0 < small_batch < large_batch.
  NoiseMeter(double small_batch, double large_batch);

  /// `small` is the mean of the workers' squared norms, `large` the squared norm of their mean. Ignores non-finite
  /// values.
  void add(double small, double large);
  GradientNoise mean() const;
  void reset();
  void visit_state(StateVisitor& state);

 private:
  struct Block {
    double gradient_square = 0;
    double covariance_trace = 0;  ///< both sums over the block's iterations
  };
  void merge_pairs();

  double small_batch_;
  double large_batch_;
  std::int64_t steps_ = 0;
  std::int64_t block_steps_ = 1;
  std::vector<Block> blocks_;  ///< the last one may be incomplete
};

/// Adds one iteration of S-SGD. `gradients` lists the gradients of this process's workers; `mean` is the mean over all
/// `workers` of all processes. Collective: every process must call it.
void measure_noise(VectorOps& ops, Processes& processes, std::int64_t n, const std::vector<const float*>& gradients,
                   const float* mean, int workers, NoiseMeter& meter);

}  // namespace lockstep::sync
