#pragma once
// Memory of single stages for tests of sim/split.
#include "sim/split/software_memory.hpp"
#include "tests/split/shapes.hpp"

namespace lockstep::sim {

inline ParallelSpec of_tensor(int tensor, bool sequence, int micro_batch = 4) {
  ParallelSpec spec;
  spec.tensor = tensor;
  spec.sequence = sequence;
  spec.micro_batch = micro_batch;
  spec.data = 1;
  return spec;
}

inline SplitMemory of_stage(const TransformerShape& shape, const ParallelSpec& spec, int stage, int micro_batches,
                            const SplitMemoryOptions& options = {}) {
  return split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), stage, micro_batches,
                      options);
}

}  // namespace lockstep::sim
