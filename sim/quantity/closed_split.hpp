#pragma once
// What a published result's job leaves open of its split.
//
// A publication that has "tensor 8, pipeline 16" and no more was not trained with micro-batches of 1 and no interleaving: its
// authors chose what was fast and fitted. So does the search of simulate job here (sim/point/best_splits.hpp), within what the
// result gives and its software can do: micro-batch, virtual stages, sharding, recomputation, sequence parallelism.
//
// Ranks that it does not give are 1 where it gives any; where it gives none and a GPU does not hold the model, all is open. A
// result that gives a split without a global batch is left as it is.
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Completes the split of a job whose names are looked up; leaves it as it is where nothing is open, nothing fits, or the job
/// cannot be modelled.
void close_split(Job& job, const Catalogue& catalogue);

}  // namespace lockstep::sim::quantity
