#pragma once
// Which layers of a model each stage of a pipeline holds.
//
// A model is an embedding, blocks that repeat, and a loss (with the final norm and the output's matrix). A pipeline of p
// stages with v chunks each has n = p v parts in the order of the model, which pipeline.hpp's ChunkOrder places on stages.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::split {

/// Consecutive layers of a graph.
struct Block {
  std::string name;  ///< what the names of its layers begin with
  int first_layer = 0;
  int last_layer = 0;  ///< included; before first_layer: empty
};

struct ModelBlocks {
  Block embedding;  ///< what stands before the first block
  std::vector<Block> blocks;
  Block loss;  ///< what stands behind the last one
};

/// Finds the blocks by the layers' names. A block's name is the components between '/' and '.' up to the first that
/// ends in a digit ("l3/query" -> "l3", "model.layers.3.mlp.up" -> "model.layers.3"). Layers without such a component
/// belong to the block before them. Throws InputError if the model has no blocks, or a block stands in two places.
ModelBlocks blocks_of(const model::Graph& graph);

/// The blocks that a part of the pipeline holds.
struct ModelPart {
  int first_block = 0;
  int blocks = 0;
  bool has_embedding = false;
  bool has_loss = false;
  bool has_both_ends_on_stage = false;  ///< another chunk of its stage has the loss, or the embedding

  bool operator==(const ModelPart& o) const {
    return first_block == o.first_block && blocks == o.blocks && has_embedding == o.has_embedding &&
           has_loss == o.has_loss && has_both_ends_on_stage == o.has_both_ends_on_stage;
  }
};

/// How blocks are distributed over stages. Comments name Megatron-LM's options
/// (megatron/core/transformer/transformer_config.py, megatron/training/arguments.py); `balanced` is DeepSpeed's
/// partition by weights (deepspeed/runtime/pipe/module.py).
struct PartitionRule {
  int first_stage_blocks = 0;           ///< num_layers_in_first_pipeline_stage; 0: as the others
  int last_stage_blocks = 0;            ///< num_layers_in_last_pipeline_stage; 0: as the others
  bool counts_embedding = false;        ///< account_for_embedding_in_pipeline_split: it takes the place of a block
  bool counts_loss = false;             ///< account_for_loss_in_pipeline_split: the same
  bool embedding_stands_alone = false;  ///< standalone_embedding_stage: the first stage holds nothing else
};

/// Even but for what the rule says. Throws InputError where the blocks do not divide, with the numbers that would.
std::vector<ModelPart> partition(int blocks, int stages, int chunks, const PartitionRule& rule = {});

/// Costs of the blocks that are distributed, in any unit.
struct BlockCosts {
  double embedding = 0;
  std::vector<double> blocks;
  double loss = 0;
};

/// The parts whose costliest one costs least; of several such partitions the one whose parts are filled first. With chunks
/// the costliest part, not the costliest stage, is least. No part is empty, but embedding and loss may stand alone. Throws
/// InputError where there are fewer blocks.
std::vector<ModelPart> balanced_partition(const BlockCosts& costs, int stages, int chunks);

double cost_of(const ModelPart& part, const BlockCosts& costs);

}  // namespace lockstep::sim::split
