#pragma once
// Computes prediction intervals from predictions of held-out sources (split conformal prediction, asymmetric: Romano,
// Patterson & Candes 2019, with sources in place of samples).
//
// A published value lies at z = log(published / predicted) / hypot(0.15, w). Here w is the effect of the inputs'
// uncertainty on the logarithm, on that side. For transformers' rates w is 0, because there the uncertainty did not
// correlate with the errors. The bounds of a class are the z below which a tenth lies and the z above which a tenth
// lies.
//
// Each of the n sources has the weight 1 / (n + 1), however many records it has. The predicted source has the same
// weight. It may lie anywhere and counts as outside, half on either side (after Lee, Barber & Willett 2023,
// "Distribution-free inference with hierarchical data", arXiv:2306.06342). With fewer than twenty sources, a tenth of
// them is hardly one source. In that case both bounds lie at this distance, with Student's t:
//
//   `r t_0.9(n),   r = sqrt(pi / 2) times the mean over sources of each one's mean |z|`
//
// This assumes that records are normally distributed around the prediction. The source with the largest error would
// dominate a mean of squares. A class with fewer than five sources takes the bounds of the next wider class.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

/// Returns "bounds below/CLASS" and "bounds above/CLASS", from all sources that may_predict() `but` (empty: from all).
/// Leaves out records scored apart, except whole trainings: they calibrate only their own class.
std::map<std::string, Constant> bounds_from(const std::vector<Prediction>& left_out, const std::string& but = "");

/// Sets the interval of every prediction from those of the other sources. Their coverage then applies to a new
/// source.
void set_bounds_left_out(std::vector<Prediction>& left_out);

}  // namespace lockstep::sim::validation
