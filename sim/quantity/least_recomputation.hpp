#pragma once
// Assumes recomputation for a published result whose split does not fit without: it ran.
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Gives a job with a split, but without recomputation, the one that repeats least work of those with which the split
/// fits. Candidates are the software's (SplitAbilities::recomputations). Software with Megatron-LM's recomputation also
/// repeats whole layers, the first ones of each chunk. Changes nothing if the split fits as it is, no recomputation
/// suffices, or the job cannot be modelled.
void add_least_recomputation(Job& job, const Catalogue& catalogue);

}  // namespace lockstep::sim::quantity
