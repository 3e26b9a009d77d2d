#pragma once
// Finds where the order of a full pipeline repeats itself: each step waits for the same steps, counted from itself, as
// the step one period earlier. If all steps for which a period can wait end c later than those one period earlier, so
// do all steps of further periods. A longer pipeline of the same schedule has more of these periods.
#include <cstddef>
#include <vector>

#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {

/// An op of a pipeline and the earlier steps that it waits for; -1: none.
struct PipelineStep {
  int stage = 0;
  int pass = 0;                 ///< index of its time among all passes of all chunks
  int own = -1;                 ///< the pass of the same chunk and micro-batch
  int arrives_from = -1;        ///< the pass of the neighbouring chunk
  int release = -1;             ///< index in PipelineTimes::release_s, row by row; -1: none
  bool has_message = false;     ///< the neighbouring chunk is on another stage
  bool is_beside_next = false;  ///< overlapped with the next step
};

/// Steps from `first` up to `end` wait as the steps one period earlier do. A period has each pass of each chunk equally
/// often: as often as micro-batches of the period use the chunk.
struct PipelineRepetition {
  std::size_t period = 0;  ///< steps; 0: the order does not repeat itself
  int micro_batches = 0;   ///< of a period
  std::size_t first = 0, end = 0;
  std::size_t reach = 0;  ///< steps back to the first one for which a step of the period can wait
};

/// Tries periods of 1, p and 2 p micro-batches; p is the number of stages. Mirrored chunks need an even number.
PipelineRepetition find_repetition(const std::vector<PipelineStep>& steps, const PipelineShape& shape);

}  // namespace lockstep::sim::split
