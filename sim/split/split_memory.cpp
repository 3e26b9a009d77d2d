#include "sim/split/split_memory.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

double hidden_bytes_of(const TransformerShape& shape, const ParallelSpec& spec, const SplitMemoryOptions& options) {
  return static_cast<double>(spec.micro_batch) * shape.sequence / spec.context * shape.hidden *
         options.activations.element;
}

// Returns the elements per token that a recurrence's backward pass holds. They are gradients of its input, the input
// convolved again, and a chunk's states with their gradients in single precision.
double recurrence_work(const TransformerShape& shape) {
  const model::RecurrenceShape& r = shape.recurrence;
  const double states =
      r.rule == model::RecurrenceRule::per_channel ? 0 : 4 * static_cast<double>(r.state_elements()) / r.chunk;
  return static_cast<double>(r.input_width() + r.convolved_width()) + states;
}

// Returns a layer's bytes in its backward pass: gradients of its widest tensors, and inputs gathered for it.
double gradients_in_work(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                         const SplitMemoryOptions& options) {
  const double tokens = static_cast<double>(spec.micro_batch) * shape.sequence / spec.context;
  const double hidden = hidden_bytes_of(shape, spec, options);
  const model::LayerParts parts = shape.parts_of(layer);
  const double inner = parts.feed_forward == model::FeedForward::network ? shape.inner
                       : parts.feed_forward == model::FeedForward::experts
                           ? spec.expert_load() * shape.mixture.active * shape.mixture.inner
                           : 0;
  const double mlp = tokens * (shape.gated ? 3 : 2) * inner * options.activations.element / spec.tensor;
  const bool has_attention = parts.mixing == model::TokenMixing::attention;
  double width = has_attention ? static_cast<double>(shape.query_width() + shape.key_width() + shape.value_width()) : 0;
  if (parts.mixing == model::TokenMixing::recurrence) width = recurrence_work(shape);
  const double scores = has_attention && !shape.has_fused_attention ? 2 * tokens * shape.sequence * shape.heads : 0;
  const double attention = (tokens * width + scores) * options.activations.element / spec.tensor;
  const double gathered = spec.sequence && spec.tensor > 1 ? 2 * hidden : 0;
  return std::max(mlp, attention) + 2 * hidden / (spec.sequence ? spec.tensor : 1) + gathered;
}

// Bytes of a chunk
struct ChunkMemory {
  double kept = 0;          // from forward to backward pass, including the loss
  double kept_by_loss = 0;  // part of `kept`
  double layer_work = 0;    // for a layer's backward pass
  double loss_work = 0;     // for the loss
};

// Bytes of a layer
struct LayerMemory {
  double kept = 0;   // from forward to backward pass
  double work = 0;   // in the backward pass
  double again = 0;  // recomputed activations, part of `work`
};

// Returns the bytes of a layer's frozen weights that the forward pass makes whole and keeps for the backward pass.
double weights_kept_whole_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer) {
  const bool keeps = is_quantised(spec.frozen_weights) && dequantisation_of(spec.frozen_weights).keeps_for_backward;
  return keeps ? kHalfBytes * rank_layer_parameters(shape, spec, layer).total() : 0;
}

// Layers with the same parts and the same recomputation need the same memory.
class LayerMemories {
 public:
  LayerMemories(const TransformerShape& shape, const ParallelSpec& spec, const SplitMemoryOptions& options)
      : shape_(shape), spec_(spec), options_(options) {}

  const LayerMemory& of(const ModelPart& part, int layer) {
    const Recomputation recompute =
        spec_.recompute_layers == 0 ? spec_.recompute : spec_of_layer(spec_, part, layer).recompute;
    std::optional<LayerMemory>& known = known_[{shape_.parts_of(layer), recompute}];
    if (!known) {
      const ParallelSpec spec = spec_of_layer(spec_, part, layer);
      const double again = recomputed_bytes(shape_, spec, layer, options_.activations);
      const double whole = weights_kept_whole_bytes(shape_, spec, layer);
      const bool is_repeated = spec.recompute == Recomputation::full;
      known = LayerMemory{kept_bytes(shape_, spec, layer, options_.activations) + (is_repeated ? 0 : whole),
                          again + gradients_in_work(shape_, spec, layer, options_) + (is_repeated ? whole : 0),
                          again + (is_repeated ? whole : 0)};
    }
    return *known;
  }

 private:
  const TransformerShape& shape_;
  const ParallelSpec& spec_;
  const SplitMemoryOptions& options_;
  std::map<std::pair<model::LayerParts, Recomputation>, std::optional<LayerMemory>> known_;
};

ChunkMemory chunk_memory(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part,
                         const SplitMemoryOptions& options, LayerMemories& layers) {
  const ActivationBytes& bytes = options.activations;
  ChunkMemory chunk;
  // Layers between two kept inputs are recomputed together, which needs the inputs between them.
  double again = 0;
  int offloaded = 0;
  for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer) {
    const LayerMemory& memory = layers.of(part, layer);
    const bool keeps_input = (layer - part.first_block) % spec.recompute_interval == 0;
    const bool is_on_host = layer < spec.offload_layers && ++offloaded > kOffloadedInFlight;
    if (keeps_input) {
      if (!is_on_host) chunk.kept += memory.kept;
      again = 0;
    } else {
      again += memory.kept;
    }
    chunk.layer_work = std::max(chunk.layer_work, again + memory.work);
    again += memory.again;
  }
  if (part.has_embedding) chunk.kept += embedding_kept_bytes(shape, spec);
  if (!part.has_loss) return chunk;
  chunk.kept_by_loss = loss_kept_bytes(shape, spec, bytes.element, options.loss);
  chunk.kept += chunk.kept_by_loss;
  chunk.loss_work = loss_working_bytes(shape, spec, bytes.element, options.loss, spec.lora_rank == 0);
  return chunk;
}

struct Peak {
  double held = 0, work = 0;
};

// Except for GPipe, every schedule repeats its order once the pipeline is full. Further micro-batches therefore need no
// more memory. An interleaved pipeline is full after fewer than 2 p micro-batches, and then repeats its order every p.
int micro_batches_until_full(const ParallelSpec& spec, int micro_batches) {
  const PipelineSchedule schedule = schedule_of_pipeline(spec);
  if (schedule == PipelineSchedule::gpipe) return micro_batches;
  const int full = (schedule == PipelineSchedule::interleaved ? 4 : 8) * spec.pipeline;
  return micro_batches <= full ? micro_batches : full + micro_batches % spec.pipeline;
}

class PeakSearch {
 public:
  void consider(double held, double work) {
    if (held + work > peak_.held + peak_.work) peak_ = {held, work};
  }
  void consider_backward(double held, const ChunkMemory& chunk) {
    consider(held, chunk.loss_work);
    consider(held - chunk.kept_by_loss, chunk.layer_work);
  }
  const Peak& peak() const { return peak_; }

 private:
  Peak peak_;
};

// With one chunk per stage, GPipe and 1F1B need most memory in a backward pass while most micro-batches are kept.
// ZB-H1 keeps them longer, until their gradients of weights.
bool has_peak_in_flight(PipelineSchedule schedule, const PipelineShape& shape) {
  return shape.chunks == 1 && (schedule == PipelineSchedule::gpipe || schedule == PipelineSchedule::one_f_one_b);
}

Peak peak_of(PipelineSchedule schedule, const PipelineShape& shape, int stage, const std::vector<ChunkMemory>& chunks) {
  PeakSearch search;
  double held = 0;
  if (has_peak_in_flight(schedule, shape)) {
    held = in_flight(schedule, shape, stage) * chunks.front().kept;
    search.consider(held, 0);
    search.consider_backward(held, chunks.front());
    return search.peak();
  }
  for (const PipelineOp& op : stage_ops(schedule, shape, stage)) {
    const ChunkMemory& chunk = chunks[to_index(op.chunk)];
    if (op.pass == Pass::forward) {
      held += chunk.kept;
      search.consider(held, 0);
    }
    if (op.pass == Pass::backward || op.pass == Pass::input_gradient) search.consider_backward(held, chunk);
    if (gives_weight_gradients(op.pass)) held -= chunk.kept;
  }
  return search.peak();
}

// The largest unit that is gathered at once, and the largest one within the layers. A unit is a layer, the embedding or
// the output. If each matrix has a collective of its own, it is a matrix.
struct Units {
  double largest_bytes = 0, layer_bytes = 0;  // gathered
  double gradients = 0;                       // trained parameters of a unit, at most
};

// Returns the parameters of a layer's largest matrix. Queries, keys and values are one matrix.
double largest_matrix(const TransformerShape& shape, const ParallelSpec& spec) {
  const double qkv = static_cast<double>(shape.query_width() + shape.key_width() + shape.value_width());
  return shape.hidden * std::max(qkv, static_cast<double>(shape.inner)) / spec.tensor;
}

// Returns the bytes of one empty gradient per shape of the stage's matrices. Layers of one kind have equal shapes.
double empty_gradients(const TransformerShape& shape, const ParallelSpec& spec, const std::vector<ModelPart>& parts,
                       int stage) {
  double dense = 0, with_experts = 0, attention = 0, recurrence = 0;
  const double t = spec.tensor, of_experts = spec.tensor_of_experts();
  for (std::size_t i = to_index(stage); i < parts.size(); i += to_index(spec.pipeline)) {
    for (int layer = parts[i].first_block; layer < parts[i].first_block + parts[i].blocks; ++layer) {
      const LayerParameters all = layer_parameters(shape, layer);
      const model::LayerParts of_layer = shape.parts_of(layer);
      if (of_layer.mixing == model::TokenMixing::attention) attention = static_cast<double>(all.attention);
      if (of_layer.mixing == model::TokenMixing::recurrence) recurrence = static_cast<double>(all.attention);
      const double mlp = static_cast<double>(all.mlp);
      if (of_layer.feed_forward == model::FeedForward::experts)
        with_experts = mlp / t + static_cast<double>(all.experts) / shape.mixture.count / of_experts;
      if (of_layer.feed_forward == model::FeedForward::network) dense = mlp / t;
    }
  }
  return (attention + recurrence) / t + dense + with_experts;
}

// Returns the bytes of a frozen weight: quantised, or in the layers' precision, whatever trained weights have.
double frozen_bytes(const ParallelSpec& spec, const SplitMemoryOptions& options) {
  if (spec.frozen_weights != FrozenWeights::whole) return quantised_bytes(spec.frozen_weights);
  return std::min(options.parameters.weight, options.activations.element);
}

// Returns the bytes of a layer's unit as it is gathered: frozen weights as they are stored, and adapters.
double gathered_layer_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                            const SplitMemoryOptions& options) {
  const double gathered = options.parameters.gathered;
  if (spec.waits_for_shards()) return gathered * largest_matrix(shape, spec);
  const double parameters = rank_layer_parameters(shape, spec, layer).total();
  if (spec.lora_rank == 0) return gathered * parameters;
  return std::min(gathered, frozen_bytes(spec, options)) * parameters +
         gathered * trained_layer_parameters(shape, spec, layer).total();
}

double layer_gradients(const TransformerShape& shape, const ParallelSpec& spec, int layer) {
  return spec.waits_for_shards() ? largest_matrix(shape, spec) : trained_layer_parameters(shape, spec, layer).total();
}

Units units_of(const TransformerShape& shape, const ParallelSpec& spec, const std::vector<ModelPart>& parts, int stage,
               const SplitMemoryOptions& options) {
  Units units;
  const double words = static_cast<double>(shape.vocabulary) * shape.hidden / spec.tensor;
  for (std::size_t i = to_index(stage); i < parts.size(); i += to_index(spec.pipeline)) {
    const ModelPart& part = parts[i];
    for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer) {
      if (layer > part.first_block && shape.parts_of(layer) == shape.parts_of(layer - 1)) continue;
      units.layer_bytes = std::max(units.layer_bytes, gathered_layer_bytes(shape, spec, layer, options));
      units.gradients = std::max(units.gradients, layer_gradients(shape, spec, layer));
    }
    if (!part.has_embedding && !part.has_loss) continue;
    units.largest_bytes = options.parameters.gathered * words;
    if (spec.lora_rank == 0) units.gradients = std::max(units.gradients, words);
  }
  units.largest_bytes = std::max(units.largest_bytes, units.layer_bytes);
  return units;
}

void add_parameters(SplitMemory& memory, const RankParameters& all, const RankParameters& of_blocks,
                    const RankParameters& trained, const ParallelSpec& spec, const SplitMemoryOptions& options) {
  const auto divided = [&](const RankParameters& parameters, ShardingStage from) {
    if (static_cast<int>(spec.sharding) < static_cast<int>(from)) return parameters.total();
    const int of_experts = spec.expert > 1 ? spec.expert_gradient_ranks() : spec.ranks_of_sharding();
    return parameters.dense / spec.ranks_of_sharding() + parameters.experts / of_experts;
  };
  const ParameterBytes& bytes = options.parameters;
  memory.weights_bytes = bytes.weight * divided(all, ShardingStage::zero3);
  if (spec.lora_rank > 0)
    memory.weights_bytes -= (bytes.weight - frozen_bytes(spec, options)) * divided(of_blocks, ShardingStage::zero3);
  memory.gradients_bytes = bytes.gradient * divided(trained, ShardingStage::zero2);
  if (spec.keeps_gathered_state()) {
    memory.weights_bytes += bytes.gathered * all.total();
    if (spec.lora_rank > 0)
      memory.weights_bytes -=
          (bytes.gathered - std::min(bytes.gathered, frozen_bytes(spec, options))) * of_blocks.total();
    memory.gradients_bytes += bytes.gradient * trained.total();
  }
  if (!spec.offloads_optimizer)
    memory.optimizer_bytes = (bytes.master + bytes.state) * divided(trained, ShardingStage::zero1);
}

// Sums the matrices of the layers, with their norms.
RankParameters block_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part) {
  RankParameters sum;
  for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer)
    sum += rank_layer_parameters(shape, spec, layer);
  return sum;
}

// Returns the bytes of a pass's copy of the largest frozen matrix; 0: none. A quantised matrix is copied in half
// precision. One in eight bits is transposed, as the backward GEMMs of Hopper read it.
double dequantised_bytes(const TransformerShape& shape, const ParallelSpec& spec) {
  if (spec.frozen_weights == FrozenWeights::whole) return 0;
  const double columns = std::max(static_cast<double>(shape.inner), static_cast<double>(shape.query_width()));
  const double bytes = is_quantised(spec.frozen_weights) ? kHalfBytes : quantised_bytes(spec.frozen_weights);
  return bytes * shape.hidden * columns / spec.tensor;
}

double buffers(const TransformerShape& shape, const ParallelSpec& spec, const Units& units,
               const SplitMemoryOptions& options) {
  const double message = hidden_bytes_of(shape, spec, options) / (spec.sequence ? spec.tensor : 1);
  // One activation and one gradient are in flight at the same time.
  double bytes = spec.pipeline > 1 ? 2 * message : 0;
  if (spec.ranks_of_sharding() == 1 || spec.keeps_gathered_state()) return bytes;
  const int ahead = spec.waits_for_shards() ? 0 : options.layers_ahead;
  if (spec.sharding == ShardingStage::zero3) bytes += units.largest_bytes + ahead * units.layer_bytes;
  if (spec.sharding == ShardingStage::zero3 || spec.sharding == ShardingStage::zero2)
    bytes += options.parameters.gradient * units.gradients;
  return bytes;
}

}  // namespace

ParameterBytes parameter_bytes(Precision precision, Optimizer optimizer, bool keeps_single_gradients) {
  const double state = 4.0 * model::update_arrays(optimizer).state;
  if (activation_bytes(precision) == 4) return {4, 4, 0, state, 4};
  return {2, keeps_single_gradients ? 4.0 : 2.0, 4, state, 2};
}

ParameterBytes half_parameter_bytes(Optimizer optimizer) {
  return {2, 2, 0, 2.0 * model::update_arrays(optimizer).state, 2};
}

ParameterBytes deepspeed_bf16_parameter_bytes(Optimizer optimizer) {
  return {2, 2 + 4, 4, 4.0 * model::update_arrays(optimizer).state, 2};
}

ParameterBytes fsdp_parameter_bytes(Optimizer optimizer) {
  return {4, 4, 0, 4.0 * model::update_arrays(optimizer).state, 2};
}

std::vector<SplitMemoryPart> SplitMemory::parts() const {
  return {{"weights", weights_bytes},         {"gradients", gradients_bytes}, {"optimizer", optimizer_bytes},
          {"activations", activations_bytes}, {"working", working_bytes},     {"buffers", buffers_bytes},
          {"margin", margin_bytes},           {"reserved", reserved_bytes}};
}

double SplitMemory::allocated_bytes() const {
  return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + working_bytes + buffers_bytes;
}

double SplitMemory::total_bytes() const {
  return allocated_bytes() + margin_bytes + reserved_bytes;
}

namespace {

SplitMemory memory_of_stage(const TransformerShape& shape, const ParallelSpec& spec,
                            const std::vector<ModelPart>& parts, int stage, int micro_batches,
                            const SplitMemoryOptions& options, LayerMemories& layers) {
  SplitMemory memory;
  RankParameters all, of_blocks, trained;
  std::vector<ChunkMemory> chunks;
  for (std::size_t i = to_index(stage); i < parts.size(); i += to_index(spec.pipeline)) {
    all += rank_parameters(shape, spec, parts[i]);
    of_blocks += block_parameters(shape, spec, parts[i]);
    trained += trained_parameters(shape, spec, parts[i]);
    chunks.push_back(chunk_memory(shape, spec, parts[i], options, layers));
  }
  add_parameters(memory, all, of_blocks, trained, spec, options);
  const PipelineShape pipeline = pipeline_shape(spec, micro_batches_until_full(spec, micro_batches));
  const Peak peak = peak_of(schedule_of_pipeline(spec), pipeline, stage, chunks);
  memory.activations_bytes = peak.held;
  memory.working_bytes = peak.work;
  memory.buffers_bytes = buffers(shape, spec, units_of(shape, spec, parts, stage, options), options);
  memory.buffers_bytes += dequantised_bytes(shape, spec);
  if (options.keeps_empty_gradients)
    memory.buffers_bytes += options.parameters.weight * empty_gradients(shape, spec, parts, stage);
  memory.margin_bytes = options.allocator_margin * memory.allocated_bytes();
  memory.reserved_bytes = options.reserved_bytes;
  return memory;
}

}  // namespace

SplitMemory split_memory(const TransformerShape& shape, const ParallelSpec& spec, const std::vector<ModelPart>& parts,
                         int stage, int micro_batches, const SplitMemoryOptions& options) {
  LayerMemories layers(shape, spec, options);
  return memory_of_stage(shape, spec, parts, stage, micro_batches, options, layers);
}

SplitMemory largest_split_memory(const TransformerShape& shape, const ParallelSpec& spec,
                                 const std::vector<ModelPart>& parts, int micro_batches,
                                 const SplitMemoryOptions& options) {
  SplitMemory largest;
  LayerMemories layers(shape, spec, options);
  for (int stage = 0; stage < spec.pipeline; ++stage) {
    const SplitMemory memory = memory_of_stage(shape, spec, parts, stage, micro_batches, options, layers);
    if (memory.total_bytes() > largest.total_bytes()) largest = memory;
  }
  return largest;
}

}  // namespace lockstep::sim::split
