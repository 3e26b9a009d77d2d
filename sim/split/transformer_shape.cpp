#include "sim/split/transformer_shape.hpp"

#include <algorithm>
#include <string>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

std::int64_t norm_parameters(const TransformerShape& shape, std::int64_t width) {
  return shape.norm == model::LayerKind::layer_norm ? 2 * width : width;
}

std::int64_t mlp_matrices(const TransformerShape& shape, std::int64_t inner) {
  return (shape.gated ? 3 : 2) * std::int64_t{shape.hidden} * inner;
}

void add_attention(const TransformerShape& shape, LayerParameters& sum) {
  const std::int64_t h = shape.hidden, query = shape.query_width(), key = shape.key_width();
  if (shape.has_latent_attention()) {
    const model::LatentSpec& l = shape.latent;
    sum.attention += (l.q_rank > 0 ? l.q_rank : h) * query;
    if (l.q_rank > 0) sum.replicated += h * l.q_rank + l.q_rank;
    sum.replicated += h * (l.kv_rank + l.rope_dim) + l.kv_rank;
    sum.attention += std::int64_t{l.kv_rank} * shape.heads * (l.nope_dim + l.value_dim);
  } else {
    sum.attention += (h + (shape.qkv_bias ? 1 : 0)) * (query + key + shape.value_width());
    if (shape.attention_out_bias) sum.replicated += h;
    if (shape.qk_norm) sum.replicated += 2 * std::int64_t{shape.head_dim};
    if (shape.qk_norm_whole) sum.attention += query + key;
    if (shape.attention_gate) sum.attention += h * query;
    if (shape.sinks) sum.attention += shape.heads;
  }
  sum.attention += shape.output_width() * h;
}

void add_recurrence(const TransformerShape& shape, LayerParameters& sum) {
  const model::RecurrenceShape& r = shape.recurrence;
  const model::RecurrenceParameters inside = recurrence_parameters(r);
  sum.attention += shape.hidden * (r.input_width() + r.value_width()) + inside.split;
  sum.replicated += inside.shared;
  if (!shape.recurrence_bias) return;
  sum.attention += r.input_width();
  sum.replicated += shape.hidden;
}

void add_mlp(const TransformerShape& shape, std::int64_t inner, LayerParameters& sum) {
  sum.mlp += mlp_matrices(shape, inner);
  if (!shape.inner_bias) return;
  sum.mlp += (shape.gated ? 2 : 1) * inner;
  sum.replicated += shape.hidden;
}

void add_experts(const TransformerShape& shape, LayerParameters& sum) {
  const model::MixtureSpec& m = shape.mixture;
  sum.replicated += std::int64_t{shape.hidden} * m.count + (m.balancing_bias ? m.count : 0);
  const std::int64_t biases = m.bias ? std::int64_t{shape.gated ? 2 : 1} * m.inner + shape.hidden : 0;
  sum.experts += m.count * (mlp_matrices(shape, m.inner) + biases);
  if (m.shared_inner == 0) return;
  add_mlp(shape, m.shared_inner, sum);
  if (m.shared_gate) sum.replicated += shape.hidden;
}

int matrices_of_mixing(const TransformerShape& shape, model::TokenMixing mixing) {
  if (mixing == model::TokenMixing::none) return 0;
  if (mixing == model::TokenMixing::recurrence || !shape.has_latent_attention()) return 2;
  return shape.latent.q_rank > 0 ? 5 : 4;
}

int dense_matrices(const TransformerShape& shape, const model::LayerParts& parts) {
  const int of_network = parts.feed_forward == model::FeedForward::none ? 0 : shape.gated ? 3 : 2;
  return matrices_of_mixing(shape, parts.mixing) + of_network;
}

[[noreturn]] void refuse(const std::string& key, const std::string& wrong, const std::string& allowed) {
  throw InputError("/parallel/" + key + ": " + wrong + "; allowed: " + allowed);
}

void check_divides(const std::string& key, int ranks, int whole, const std::string& what) {
  if (whole % ranks != 0)
    refuse(key, std::to_string(whole) + " " + what + " are not divided by " + std::to_string(ranks),
           "divisors of " + std::to_string(whole));
}

// Each rank holds whole groups of keys. Context ranks exchange tokens for heads.
void check_recurrence(const TransformerShape& shape, const ParallelSpec& spec) {
  if (!shape.has_recurrence()) return;
  const model::RecurrenceShape& r = shape.recurrence;
  const bool has_groups = r.rule == model::RecurrenceRule::per_head || r.rule == model::RecurrenceRule::delta;
  check_divides("tensor", spec.tensor, has_groups ? r.groups : r.heads,
                has_groups ? "groups of a recurrence's keys" : "heads of a recurrence");
  check_divides("context", spec.context * spec.tensor, r.heads, "heads of a recurrence, which all-to-all shares out");
  if (spec.waits_for_shards())
    refuse("sharding_calls", "calls for each matrix of a recurrence are not modelled", "layers");
}

}  // namespace

std::int64_t TransformerShape::query_width() const {
  return std::int64_t{heads} * (has_latent_attention() ? latent.nope_dim + latent.rope_dim : head_dim);
}

std::int64_t TransformerShape::key_width() const {
  return has_latent_attention() ? query_width() : std::int64_t{kv_heads} * head_dim;
}

std::int64_t TransformerShape::value_width() const {
  return has_latent_attention() ? output_width() : std::int64_t{kv_heads} * head_dim;
}

std::int64_t TransformerShape::output_width() const {
  return std::int64_t{heads} * (has_latent_attention() ? latent.value_dim : head_dim);
}

int kv_repeats(const TransformerShape& shape, const ParallelSpec& spec) {
  return shape.has_latent_attention() ? 1 : std::max(1, spec.tensor / shape.kv_heads);
}

std::string why_not_split(const TransformerShape& shape) {
  if (shape.decoder_layers > 0) return "a split of an encoder and a decoder is not modelled";
  if (shape.patches.image > 0) return "a split of a model of images is not modelled";
  if (shape.embedding_width > 0 && shape.embedding_width != shape.hidden)
    return "a split of an embedding of another width is not modelled";
  if (shape.distance_buckets > 0) return "a split of a table of distances is not modelled";
  return "";
}

void check_divisible(const TransformerShape& shape, const ParallelSpec& spec) {
  if (const std::string why = why_not_split(shape); !why.empty())
    throw InputError(why + "; allowed: one stack of layers over tokens");
  check_divides("tensor", spec.tensor, shape.heads, "heads");
  if (!shape.has_latent_attention() && shape.kv_heads % spec.tensor != 0 && spec.tensor % shape.kv_heads != 0)
    refuse("tensor",
           std::to_string(spec.tensor) + " ranks neither divide " + std::to_string(shape.kv_heads) +
               " key-value heads nor repeat them evenly",
           "divisors or multiples of " + std::to_string(shape.kv_heads));
  check_divides("tensor", spec.tensor, shape.inner, "columns of the MLP");
  check_recurrence(shape, spec);
  // Each rank has a piece from the front and one from the back, so that all have equal work in causal attention.
  if (spec.context > 1) check_divides("context", 2 * spec.context, shape.sequence, "tokens of a sequence");
  if (spec.context_exchange == ContextExchange::all_to_all)
    check_divides("context", spec.context * spec.tensor, shape.heads, "heads, which all-to-all shares out");
  if (spec.offload_layers >= shape.layers)
    refuse("offload_layers", std::to_string(spec.offload_layers) + " of " + std::to_string(shape.layers) + " layers",
           "up to " + std::to_string(shape.layers - 1) + ", because the backward pass begins with the last layer");
  if (spec.sequence) check_divides("sequence", spec.tensor * spec.context, shape.sequence, "tokens of a sequence");
  if (shape.mixture.count == 0) {
    if (spec.expert > 1) refuse("expert", "the model has no experts", "1");
    return;
  }
  if (spec.waits_for_shards())
    refuse("sharding_calls", "calls for each matrix of experts are not modelled", "layers, where a model has experts");
  check_divides("expert", spec.expert, shape.mixture.count, "experts");
  check_divides("tensor", spec.tensor_of_experts(), shape.mixture.inner, "columns of an expert");
  if (spec.tensor > 1 && !spec.sequence)
    refuse("sequence", "tensor ranks would send the same tokens to the experts", "true, where a model has experts");
}

LayerParameters layer_parameters(const TransformerShape& shape, int layer) {
  LayerParameters sum;
  const model::LayerParts parts = shape.parts_of(layer);
  const bool has_both = parts.mixing != model::TokenMixing::none && parts.feed_forward != model::FeedForward::none;
  const int norms = has_both && shape.norm_place != model::NormPlace::parallel_one ? 2 : 1;
  sum.replicated = (shape.norm_place == model::NormPlace::both ? 2 : 1) * norms * norm_parameters(shape, shape.hidden);
  if (parts.mixing == model::TokenMixing::attention) add_attention(shape, sum);
  if (parts.mixing == model::TokenMixing::recurrence) add_recurrence(shape, sum);
  if (parts.feed_forward == model::FeedForward::experts) add_experts(shape, sum);
  if (parts.feed_forward == model::FeedForward::network) add_mlp(shape, shape.inner, sum);
  return sum;
}

std::int64_t embedding_parameters(const TransformerShape& shape) {
  const std::int64_t norm = shape.embedding_norm ? norm_parameters(shape, shape.hidden) : 0;
  return (std::int64_t{shape.position_rows} + shape.token_types) * shape.hidden + norm;
}

std::int64_t loss_parameters(const TransformerShape& shape) {
  const std::int64_t h = shape.hidden;
  std::int64_t sum = shape.final_norm ? norm_parameters(shape, h) : 0;
  if (shape.output_bias) sum += shape.vocabulary;
  if (shape.objective == model::Objective::next_token) return sum;
  sum += h * h + h + norm_parameters(shape, h);
  if (shape.objective == model::Objective::masked_and_next_sentence) sum += h * h + h + 2 * h + 2;
  return sum;
}

RankParameters rank_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer) {
  const LayerParameters all = layer_parameters(shape, layer);
  const double t = spec.tensor;
  const bool repeats_kv =
      shape.parts_of(layer).mixing == model::TokenMixing::attention && !shape.has_latent_attention();
  const std::int64_t kv = repeats_kv ? shape.key_width() + shape.value_width() : 0;
  const auto of_kv = static_cast<double>((shape.hidden + (shape.qkv_bias ? 1 : 0)) * kv);
  const double repeated = of_kv * (kv_repeats(shape, spec) - 1);
  return {static_cast<double>(all.replicated) + (static_cast<double>(all.attention + all.mlp) + repeated) / t,
          static_cast<double>(all.experts) / (double(spec.tensor_of_experts()) * spec.expert),
          double(dense_matrices(shape, shape.parts_of(layer)))};
}

ParallelSpec spec_of_layer(const ParallelSpec& spec, const ModelPart& part, int layer) {
  ParallelSpec of_layer = spec;
  const bool is_kept = spec.recompute_layers > 0 && layer - part.first_block >= spec.recompute_layers;
  if (is_kept) of_layer.recompute = Recomputation::none;
  return of_layer;
}

RankParameters rank_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part) {
  RankParameters sum = rank_parameters_outside_layers(shape, spec, part);
  for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer)
    sum += rank_layer_parameters(shape, spec, layer);
  return sum;
}

RankParameters rank_parameters_outside_layers(const TransformerShape& shape, const ParallelSpec& spec,
                                              const ModelPart& part) {
  RankParameters sum;
  const double words = static_cast<double>(shape.vocabulary) * shape.hidden / spec.tensor;
  if (part.has_embedding) {
    sum.dense += words + static_cast<double>(embedding_parameters(shape));
    sum.matrices += shape.position_rows > 0 ? 2 : 1;
  }
  if (!part.has_loss) return sum;
  sum.dense += static_cast<double>(loss_parameters(shape));
  const bool has_it_from_embedding = shape.tied_output && (part.has_embedding || part.has_both_ends_on_stage);
  if (has_it_from_embedding) return sum;
  sum.dense += words;
  ++sum.matrices;
  return sum;
}

namespace {

double compressed_width(const TransformerShape& shape) {
  const model::LatentSpec& l = shape.latent;
  const double queries = l.q_rank > 0 ? l.q_rank : static_cast<double>(shape.query_width());
  return queries + l.kv_rank + l.rope_dim;
}

}  // namespace

bool has_feed_forward_adapters(const ParallelSpec& spec, const model::LayerParts& parts) {
  return spec.lora_target == LoraTarget::all && parts.feed_forward == model::FeedForward::network;
}

RankParameters trained_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer) {
  if (spec.lora_rank == 0) return rank_layer_parameters(shape, spec, layer);
  const model::LayerParts parts = shape.parts_of(layer);
  double whole = 0, divided = 0;
  if (parts.mixing == model::TokenMixing::attention) {
    whole += 2.0 * shape.hidden;
    // With latent attention, the matrices that read the hidden state compress it; every tensor rank has them.
    if (shape.has_latent_attention())
      whole += compressed_width(shape);
    else
      divided += static_cast<double>(shape.query_width() + shape.key_width() + shape.value_width());
    divided += static_cast<double>(shape.output_width());
  }
  if (has_feed_forward_adapters(spec, parts)) {
    whole += 2.0 * shape.hidden;
    divided += (shape.gated ? 3.0 : 2.0) * shape.inner;
  }
  return {spec.lora_rank * (whole + divided / spec.tensor), 0};
}

RankParameters trained_parameters_outside_layers(const TransformerShape& shape, const ParallelSpec& spec,
                                                 const ModelPart& part) {
  return spec.lora_rank > 0 ? RankParameters() : rank_parameters_outside_layers(shape, spec, part);
}

namespace {

template <class OfLayer>
RankParameters sum_of_trained(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part,
                              const OfLayer& of_layer) {
  RankParameters sum = trained_parameters_outside_layers(shape, spec, part);
  for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer) sum += of_layer(layer);
  return sum;
}

}  // namespace

RankParameters trained_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part) {
  return sum_of_trained(shape, spec, part, [&](int layer) { return trained_layer_parameters(shape, spec, layer); });
}

RankParameters trained_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part,
                                  const std::vector<RankParameters>& trained_layers) {
  return sum_of_trained(shape, spec, part, [&](int layer) { return trained_layers[to_index(layer)]; });
}

}  // namespace lockstep::sim::split
