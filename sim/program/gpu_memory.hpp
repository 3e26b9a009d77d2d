#pragma once
// Memory of a GPU at a point, to refuse what cannot run.
//
// Learners (sma, ea-sgd): as Crossbow plans it (cost/memory.hpp). Otherwise, per parameter: the weight and its gradient
// in the precision of the activations, and where that is not fp32 a master weight of 4 bytes; momentum 4 bytes (none
// with sgd). Sharded data parallelism divides these by the number of GPUs and holds the units in flight in full. Then
// the outputs of the layers, forward and backward, with the reuse of cost/memory.hpp, and the input batches in flight.
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// Bytes, without what the framework reserves. Learners chosen by the auto-tuner count as one.
double memory_bytes_per_gpu(const Scenario& scenario, int gpus, int batch_per_gpu);

}  // namespace lockstep::sim
