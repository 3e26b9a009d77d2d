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
  std::string name;  ///< beginning of the names of its layers
  int first_layer = 0;
  int last_layer = 0;  ///< included; the block is empty if this is before first_layer
};

struct ModelBlocks {
  Block embedding;  ///< layers before the first block
  std::vector<Block> blocks;
  Block loss;  ///< layers after the last block
};

/// Finds the blocks by the layers' names. A block's name ends with the first component between '/' and '.' that ends in
/// a digit ("l3/query" -> "l3", "model.layers.3.mlp.up" -> "model.layers.3"). Layers without such a component belong to
/// the block before them. Throws InputError if the model has no blocks, or if a block is in two places.
ModelBlocks blocks_of(const model::Graph& graph);

/// The blocks that a part of the pipeline holds.
struct ModelPart {
  int first_block = 0;
  int blocks = 0;
  bool has_embedding = false;
  bool has_loss = false;
  bool has_both_ends_on_stage = false;  ///< the other end of the model is on the same stage, in another chunk

  bool operator==(const ModelPart& o) const {
    return first_block == o.first_block && blocks == o.blocks && has_embedding == o.has_embedding &&
           has_loss == o.has_loss && has_both_ends_on_stage == o.has_both_ends_on_stage;
  }
};

/// Distributes blocks over stages. Comments name Megatron-LM's options
/// (megatron/core/transformer/transformer_config.py, megatron/training/arguments.py). `balanced` is DeepSpeed's
/// partition by weights (deepspeed/runtime/pipe/module.py).
struct PartitionRule {
  int first_stage_blocks = 0;           ///< num_layers_in_first_pipeline_stage; 0: as on other stages
  int last_stage_blocks = 0;            ///< num_layers_in_last_pipeline_stage; 0: as on other stages
  bool counts_embedding = false;        ///< account_for_embedding_in_pipeline_split: the embedding counts as a block
  bool counts_loss = false;             ///< account_for_loss_in_pipeline_split: the loss counts as a block
  bool embedding_stands_alone = false;  ///< standalone_embedding_stage: the first stage holds nothing else
};

/// Divides blocks evenly, except as the rule says. If that is impossible, throws InputError with numbers that would
/// work.
std::vector<ModelPart> partition(int blocks, int stages, int chunks, const PartitionRule& rule = {});

/// Costs of the blocks to distribute, in any unit.
struct BlockCosts {
  double embedding = 0;
  std::vector<double> blocks;
  double loss = 0;
};

/// Returns the partition whose costliest part costs the least. Among several, it returns the one that fills its first
/// parts. With chunks it minimises the costliest part, not the costliest stage. No part is empty, but a part may hold
/// only the embedding or the loss. Throws InputError if there are fewer items than parts.
std::vector<ModelPart> balanced_partition(const BlockCosts& costs, int stages, int chunks);

/// Returns the partition by nanotron's rule: each part takes blocks until the cost of all items so far exceeds its share
/// of the total. The loss is in the last part, and parts before it may be empty.
std::vector<ModelPart> cumulative_partition(const BlockCosts& costs, int parts);

double cost_of(const ModelPart& part, const BlockCosts& costs);

}  // namespace lockstep::sim::split
