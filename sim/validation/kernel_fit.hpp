#pragma once
// Fits the law of one kind of kernel on one GPU (sim/kernel/kernel_law.hpp) to measured times.
//
//   1. The law's terms are fitted by Levenberg-Marquardt on the logarithms of times. Weights 1 / max(|residual|, 0.03)
//      minimise absolute deviations. Libraries sometimes choose slow kernels, and such rows must not bend the law.
//   2. Correction tables are fitted to the residuals, one after the other, in three rounds (backfitting: Hastie &
//      Tibshirani 1990). Each node takes the weighted mean of the residuals around it. With few rows it shrinks towards
//      its neighbours and 0. A GEMM's table is then changed so that its times at the nodes never decrease with m, n or
//      k. Each becomes the mean of the running maximum and the running minimum from the other end.
//
// Terms are fitted to at most 4,000 rows. A third of the shapes is held out, the same ones in all precisions and on all
// GPUs. The law's error is that on held-out shapes. Then the tables, but not the terms, are fitted again on all rows.
#include <string>
#include <vector>

#include "sim/kernel/kernel_law.hpp"

namespace lockstep::sim {
inline namespace validation {

struct KernelSample {
  KernelWork work;
  double seconds = 0;
  bool is_held_out = false;
};

/// A measured time that the fit did not see, and the law's prediction of it.
struct HeldOutTime {
  double measured_s = 0, predicted_s = 0;
};

struct KernelLawFit {
  KernelLaw law;
  std::vector<HeldOutTime> held_out;  ///< at most 40, spread over the held-out rows
};

/// True for a fixed third of all keys (KernelRow::split_key).
bool is_held_out(const std::string& split_key);

/// Needs positive times of at least 12 fitted samples and a held-out one, all of one kind; else throws InputError.
KernelLawFit fit_kernel_law(const std::string& name, const std::string& source,
                            const std::vector<KernelSample>& samples, const KernelPeaks& peaks);

/// Returns the error of predicted times, on held-out samples or, with `all`, on all samples.
KernelLawError kernel_law_error(const KernelLaw& law, const std::vector<KernelSample>& samples,
                                const KernelPeaks& peaks, bool all = false);

}  // namespace validation
}  // namespace lockstep::sim
