#pragma once
// A scenario's split on a number of GPUs, as input of the formulas of sim/split.
//
// If the parts of the pipeline do not divide the layers, embedding and output count as a layer each. All are then
// distributed as evenly as possible (Llama 3 405B: 126 layers and these two on 16 stages).
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/split/split_memory.hpp"
#include "sim/split/traffic.hpp"

namespace lockstep::sim::program {

struct SplitJob {
  TransformerShape shape;
  ParallelSpec spec;  ///< with `data` set
  int micro_batches = 1;
  std::vector<ModelPart> parts;  ///< chunk c of stage s has the index c p + s; there are p stages
  /// Parameters of each layer on a rank. Gathered ones count by their bytes: TrafficOptions::frozen_share.
  std::vector<RankParameters> gathered_layers, trained_layers;
  TrafficOptions traffic;
  SplitMemoryOptions memory;

  /// Returns spec_of_layer() for the part that holds the layer.
  ParallelSpec spec_of(int layer) const;
  /// Returns trained_parameters() of the part.
  RankParameters trained_parameters(const ModelPart& part) const;
  PipelineShape pipeline() const { return pipeline_shape(spec, micro_batches); }
  /// Returns the ops of each stage, by the schedule. A single stage alternates forward and backward passes of
  /// micro-batches.
  std::vector<StageOps> ops() const;
};

/// Makes the split on `gpus` GPUs. Weights have the precision of the activations, in addition to master weights.
/// Gradients are summed and sent in the scenario's /communication/wire. Throws InputError if model, split and GPUs do
/// not match, or if the scenario has no split, or no transformer described by numbers.
SplitJob split_job(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::program
