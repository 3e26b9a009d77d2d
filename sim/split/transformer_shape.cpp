#include "sim/split/transformer_shape.hpp"

#include <algorithm>
#include <string>

namespace lockstep::sim {
namespace {

std::int64_t norm_parameters(const TransformerShape& shape, std::int64_t width) {
  return shape.norm == NormKind::layer ? 2 * width : width;
}

std::int64_t mlp_matrices(const TransformerShape& shape, std::int64_t inner) {
  return (shape.is_gated ? 3 : 2) * std::int64_t{shape.hidden} * inner;
}

// On a tensor rank key-value heads that are fewer than ranks are repeated.
std::int64_t kv_repeats(const TransformerShape& shape, const ParallelSpec& spec) {
  return shape.latent ? 1 : std::max(1, spec.tensor / shape.kv_heads);
}

void add_attention(const TransformerShape& shape, LayerParameters& sum) {
  const std::int64_t h = shape.hidden;
  if (shape.latent) {
    const LatentAttention& l = *shape.latent;
    const std::int64_t from_queries = l.query_rank > 0 ? l.query_rank : h;
    sum.attention += from_queries * shape.query_width();
    if (l.query_rank > 0) sum.replicated += h * l.query_rank + l.query_rank;
    sum.replicated += h * (l.kv_rank + l.rotary_dim) + l.kv_rank;
    sum.attention += std::int64_t{l.kv_rank} * shape.heads * (shape.head_dim + l.value_dim);
  } else {
    sum.attention += h * (shape.query_width() + shape.key_width() + shape.value_width());
    if (shape.has_biases || shape.has_qkv_biases)
      sum.attention += shape.query_width() + shape.key_width() + shape.value_width();
  }
  sum.attention += shape.output_width() * h;
  if (shape.has_biases) sum.replicated += h;
  if (shape.has_head_norms) sum.replicated += 2 * shape.head_dim;
}

void add_mlp(const TransformerShape& shape, int layer, LayerParameters& sum) {
  const std::int64_t h = shape.hidden;
  if (shape.has_experts(layer)) {
    const ExpertShape& e = *shape.experts;
    sum.replicated += h * e.experts;
    sum.experts += e.experts * mlp_matrices(shape, e.inner);
    sum.mlp += mlp_matrices(shape, e.shared_inner);
    return;
  }
  sum.mlp += mlp_matrices(shape, shape.inner);
  if (!shape.has_biases) return;
  sum.mlp += (shape.is_gated ? 2 : 1) * std::int64_t{shape.inner};
  sum.replicated += h;
}

[[noreturn]] void refuse(const std::string& key, const std::string& wrong, const std::string& allowed) {
  throw InputError("/parallel/" + key + ": " + wrong + "; allowed: " + allowed);
}

void check_divides(const std::string& key, int ranks, int whole, const std::string& what) {
  if (whole % ranks != 0)
    refuse(key, std::to_string(whole) + " " + what + " are not divided by " + std::to_string(ranks),
           "divisors of " + std::to_string(whole));
}

}  // namespace

std::int64_t TransformerShape::query_width() const {
  return std::int64_t{heads} * (head_dim + (latent ? latent->rotary_dim : 0));
}

std::int64_t TransformerShape::key_width() const {
  return latent ? query_width() : std::int64_t{kv_heads} * head_dim;
}

std::int64_t TransformerShape::value_width() const {
  return latent ? output_width() : std::int64_t{kv_heads} * head_dim;
}

std::int64_t TransformerShape::output_width() const {
  return std::int64_t{heads} * (latent ? latent->value_dim : head_dim);
}

void check_fits(const TransformerShape& shape, const ParallelSpec& spec) {
  check_divides("tensor", spec.tensor, shape.heads, "heads");
  if (!shape.latent && shape.kv_heads % spec.tensor != 0 && spec.tensor % shape.kv_heads != 0)
    refuse("tensor",
           std::to_string(spec.tensor) + " ranks neither divide " + std::to_string(shape.kv_heads) +
               " key-value heads nor repeat them evenly",
           "divisors or multiples of " + std::to_string(shape.kv_heads));
  check_divides("tensor", spec.tensor, shape.inner, "columns of the MLP");
  // Each rank has a piece from the front and one from the back, so that causal attention is the same work for all.
  if (spec.context > 1) check_divides("context", 2 * spec.context, shape.sequence, "tokens of a sequence");
  if (spec.sequence) check_divides("sequence", spec.tensor * spec.context, shape.sequence, "tokens of a sequence");
  if (!shape.experts) {
    if (spec.expert > 1) refuse("expert", "the model has no experts", "1");
    return;
  }
  check_divides("expert", spec.expert, shape.experts->experts, "experts");
  check_divides("tensor", spec.tensor, shape.experts->inner, "columns of an expert");
  if (spec.tensor > 1 && !spec.sequence)
    refuse("sequence", "tensor ranks would send the same tokens to the experts", "true, where a model has experts");
}

LayerParameters layer_parameters(const TransformerShape& shape, int layer) {
  LayerParameters sum;
  sum.replicated = 2 * norm_parameters(shape, shape.hidden);
  add_attention(shape, sum);
  add_mlp(shape, layer, sum);
  return sum;
}

std::int64_t embedding_parameters(const TransformerShape& shape) {
  return (std::int64_t{shape.vocabulary} + shape.positions) * shape.hidden;
}

std::int64_t loss_parameters(const TransformerShape& shape) {
  const std::int64_t output = shape.ties_embedding ? 0 : std::int64_t{shape.vocabulary} * shape.hidden;
  return output + norm_parameters(shape, shape.hidden);
}

std::int64_t parameter_count(const TransformerShape& shape) {
  std::int64_t sum = embedding_parameters(shape) + loss_parameters(shape);
  for (int layer = 0; layer < shape.layers; ++layer) sum += layer_parameters(shape, layer).total();
  return sum;
}

RankParameters rank_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer) {
  const LayerParameters all = layer_parameters(shape, layer);
  const double t = spec.tensor;
  const auto kv = static_cast<double>(shape.latent ? 0 : shape.hidden * (shape.key_width() + shape.value_width()));
  const double repeated = kv * static_cast<double>(kv_repeats(shape, spec) - 1);
  return {static_cast<double>(all.replicated) + (static_cast<double>(all.attention + all.mlp) + repeated) / t,
          static_cast<double>(all.experts) / (t * spec.expert)};
}

RankParameters rank_parameters(const TransformerShape& shape, const ParallelSpec& spec, const Part& part) {
  RankParameters sum;
  for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer) {
    const RankParameters of_layer = rank_layer_parameters(shape, spec, layer);
    sum.dense += of_layer.dense;
    sum.experts += of_layer.experts;
  }
  const double words = static_cast<double>(shape.vocabulary) * shape.hidden / spec.tensor;
  if (part.has_embedding) sum.dense += words + static_cast<double>(shape.positions) * shape.hidden;
  if (!part.has_loss) return sum;
  sum.dense += static_cast<double>(norm_parameters(shape, shape.hidden));
  const bool has_it_from_embedding = shape.ties_embedding && part.has_embedding;
  if (!has_it_from_embedding) sum.dense += words;
  return sum;
}

}  // namespace lockstep::sim
