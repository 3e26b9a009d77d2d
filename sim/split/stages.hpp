#pragma once
// Determines which layers of a model each stage of a pipeline holds.
//
// A model is an embedding, repeated blocks, and a loss (with the final norm and the output matrix). A pipeline of p
// stages with v chunks each has n = p v parts in the order of the model. ChunkOrder of pipeline.hpp places them on
// stages.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::split {

/// Consecutive layers of a graph.
struct Block {
  std::string name;  ///< beginning of its layers' names
  int first_layer = 0;
  int last_layer = 0;  ///< included; if before first_layer, the block is empty
};

struct ModelBlocks {
  Block embedding;  ///< layers before the first block
  std::vector<Block> blocks;
  Block loss;  ///< layers after the last block
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
  bool has_both_ends_on_stage = false;  ///< its stage also has the other end of the model, in another chunk

  bool operator==(const ModelPart& o) const {
    return first_block == o.first_block && blocks == o.blocks && has_embedding == o.has_embedding &&
           has_loss == o.has_loss && has_both_ends_on_stage == o.has_both_ends_on_stage;
  }
};

/// How blocks are distributed over stages. Comments name Megatron-LM's options
/// (megatron/core/transformer/transformer_config.py, megatron/training/arguments.py); `balanced` is DeepSpeed's
/// partition by weights (deepspeed/runtime/pipe/module.py).
struct PartitionRule {
  int first_stage_blocks = 0;           ///< num_layers_in_first_pipeline_stage; 0: as on other stages
  int last_stage_blocks = 0;            ///< num_layers_in_last_pipeline_stage; 0: as on other stages
  bool counts_embedding = false;        ///< account_for_embedding_in_pipeline_split: it takes the place of a block
  bool counts_loss = false;             ///< account_for_loss_in_pipeline_split: the same
  bool embedding_stands_alone = false;  ///< standalone_embedding_stage: the first stage holds nothing else
};

/// Divides blocks evenly, except as the rule says. Throws InputError if that is impossible, with numbers that would
/// work.
std::vector<ModelPart> partition(int blocks, int stages, int chunks, const PartitionRule& rule = {});

/// Costs of the blocks to distribute, in any unit.
struct BlockCosts {
  double embedding = 0;
  std::vector<double> blocks;
  double loss = 0;
};

/// The partition whose costliest part costs the least; among several, the one that fills its first parts. With chunks
/// it minimises the costliest part, not the costliest stage. No part is empty, but embedding and loss may be alone.
/// Throws InputError if there are fewer blocks than parts.
std::vector<ModelPart> balanced_partition(const BlockCosts& costs, int stages, int chunks);

double cost_of(const ModelPart& part, const BlockCosts& costs);

}  // namespace lockstep::sim::split
