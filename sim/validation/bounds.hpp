#pragma once
// How far bounds must reach, from predictions of left-out sources (split conformal prediction, asymmetric: Romano,
// Patterson & Candes 2019, with sources in place of samples).
//
// A published value lies at z = log(published / predicted) / hypot(0.15, w), with w what the inputs' uncertainty lets the
// logarithm be off on that side, 0 for transformers' rates, where it has said nothing of the errors. Of a class of n sources
// the bounds reach to the z beyond which a tenth lies below, and to that beyond which a tenth lies above. Every source has
// the same weight, however many records it has, 1 / (n + 1), and as much has the one that is predicted, which may be
// anywhere and counts as beyond, half of it on either side (after Lee, Barber & Willett 2023, "Distribution-free inference
// with hierarchical data", arXiv:2306.06342). Fewer than twenty sources have hardly one in a tenth: there both sides reach to
//
//   r t_0.9(n),   r = sqrt(pi / 2) times the mean over sources of each one's mean |z|
//
// with Student's t, as if records were normal around the prediction; a mean of squares would be that of the one source that
// is farthest off. A class of fewer than five sources takes the bounds of the next wider one.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

/// Constants "bounds below/CLASS" and "bounds above/CLASS", from all but one source and without records that are scored
/// apart. Whole trainings are all scored apart; they calibrate their own class and no wider one.
std::map<std::string, Constant> bounds_from(const std::vector<Prediction>& left_out, const std::string& but = "");

/// Bounds of every prediction by those of the other sources, so that what they hold says what they hold of a new one.
void set_bounds_left_out(std::vector<Prediction>& left_out);

}  // namespace lockstep::sim::validation
