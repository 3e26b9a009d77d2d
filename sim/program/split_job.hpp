#pragma once
// A scenario's split at a number of GPUs, as the formulas of sim/split take it.
//
// Layers that do not divide into the parts of the pipeline are dealt out with the embedding and the output counted as a
// layer each, as evenly as they go (Llama 3 405B: 126 layers and these two on 16 stages).
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/split/split_memory.hpp"
#include "sim/split/traffic.hpp"

namespace lockstep::sim::program {

struct SplitJob {
  TransformerShape shape;
  ParallelSpec spec;  ///< `data` filled in
  int micro_batches = 1;
  std::vector<ModelPart> parts;  ///< chunk c of stage s at c p + s, of p stages
  TrafficOptions traffic;
  SplitMemoryOptions memory;

  /// spec_of_layer(), wherever the layer stands.
  ParallelSpec spec_of(int layer) const;
  PipelineShape pipeline() const { return pipeline_shape(spec, micro_batches); }
  /// Of the schedule, each stage's; one stage passes each micro-batch forward and backward in turn.
  std::vector<StageOps> ops() const;
};

/// Weights stay in the precision of the activations beside master weights; gradients are added up and sent in the
/// scenario's /communication/wire. Throws InputError where model, split and GPUs do not fit together, and where the
/// scenario has no split or no transformer by its numbers.
SplitJob split_job(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::program
