#pragma once
// Completes the split of a published result that gives only parts of it.
//
// A publication that only gives "tensor 8, pipeline 16" was hardly trained with micro-batches of 1 and without
// interleaving: its authors chose a fast split that fits. So the search of `simulate job` (sim/point/best_splits.hpp)
// chooses micro-batch, virtual stages, sharding, recomputation and sequence parallelism. It stays within the given keys
// and the software's abilities.
//
// If the result gives some numbers of ranks, all others are 1. If it gives none and a GPU does not hold the model, all
// are searched. If the result gives a split without a global batch, only its recomputation is chosen.
//
// If a split does not fit without recomputation and the result does not give any, the least recomputation with which it
// fits is assumed: it ran.
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Completes the split of a job whose names are looked up. Leaves it unchanged if nothing is missing, no split fits, or
/// the job cannot be modelled.
void close_split(Job& job, const Catalogue& catalogue);

}  // namespace lockstep::sim::quantity
