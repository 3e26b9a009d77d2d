#pragma once
// Computes prediction intervals from predictions of held-out sources (split conformal prediction, asymmetric: Romano,
// Patterson & Candes 2019, with sources in place of samples).
//
// A published value lies at z = log(published / predicted) / hypot(0.15, w). Here w is the effect of the inputs'
// uncertainty on the logarithm, on that side. For transformers' rates w is 0, because there the uncertainty did not
// correlate with the errors. The bounds of a class reach to the z below which a tenth lies, and to the z above which a
// tenth lies.
//
// Each of the n sources has the weight 1 / (n + 1), however many records it has. The predicted source has the same
// weight. It may lie anywhere and counts as outside, half on either side (after Lee, Barber & Willett 2023,
// "Distribution-free inference with hierarchical data", arXiv:2306.06342). With fewer than twenty sources a tenth is
// hardly one source. There both sides reach to this, with Student's t:
//
//   `r t_0.9(n),   r = sqrt(pi / 2) times the mean over sources of each one's mean |z|`
//
// This treats records as normal around the prediction. The source with the largest error would dominate a mean of
// squares. A class of fewer than five sources takes the bounds of the next wider class.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

/// Returns the constants "bounds below/CLASS" and "bounds above/CLASS", from all sources that may_predict() `but`; empty: from all. Records that are
/// scored apart are left out. Whole trainings are all scored apart; they calibrate their own class and no wider one.
std::map<std::string, Constant> bounds_from(const std::vector<Prediction>& left_out, const std::string& but = "");

/// Sets the interval of every prediction from those of the other sources, so that their coverage holds for a new
/// source.
void set_bounds_left_out(std::vector<Prediction>& left_out);

}  // namespace lockstep::sim::validation
