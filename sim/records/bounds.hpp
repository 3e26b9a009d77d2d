#pragma once
// How far bounds must reach, from predictions of left-out sources (split conformal prediction, asymmetric: Romano,
// Patterson & Candes 2019, with sources in place of samples).
//
// A published value lies at z = log(published / predicted) / hypot(0.15, w), with w what the inputs' uncertainty lets the
// logarithm be off on that side, 0 for transformers' rates, where it has said nothing of the errors. Of a class of predictions the bounds reach to the z beyond which a tenth lies below,
// and to that beyond which a tenth lies above; every source has the same weight, however many records it has. Of fewer than
// ten sources both sides count together, a fifth beyond the same |z|; a class of fewer than five takes the bounds of the
// next wider one.
#include <map>
#include <string>
#include <vector>

#include "sim/records/predict.hpp"

namespace lockstep::sim {
inline namespace records {

/// Constants "bounds below/CLASS" and "bounds above/CLASS", from all but one source.
std::map<std::string, Constant> bounds_from(const std::vector<Prediction>& left_out, const std::string& but = "");

/// Bounds of every prediction by those of the other sources, so that what they hold says what they hold of a new one.
void set_bounds_left_out(std::vector<Prediction>& left_out);

}  // namespace records
}  // namespace lockstep::sim
