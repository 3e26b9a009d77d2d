#include "engine/model/transformer/spec.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::model {
namespace {

constexpr int kMostUsualTokens = 8192;

std::int64_t product(int a, int b) {
  return std::int64_t{a} * b;
}

std::int64_t norm_parameters(const TransformerSpec& s, int width) {
  return s.norm == LayerKind::layer_norm ? 2 * std::int64_t{width} : width;
}

std::int64_t latent_attention(const TransformerSpec& s) {
  const LatentSpec& l = s.latent;
  const int query = s.heads * (l.nope_dim + l.rope_dim);
  const std::int64_t queries =
      l.q_rank > 0 ? product(s.hidden, l.q_rank) + l.q_rank + product(l.q_rank, query) : product(s.hidden, query);
  const std::int64_t keys_and_values =
      product(s.hidden, l.kv_rank + l.rope_dim) + l.kv_rank + product(l.kv_rank, s.heads * (l.nope_dim + l.value_dim));
  return queries + keys_and_values + product(s.heads * l.value_dim, s.hidden);
}

std::int64_t attention(const TransformerSpec& s) {
  if (s.latent.kv_rank > 0) return latent_attention(s);
  const int q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  std::int64_t sum = product(s.hidden, q + 2 * kv) + product(q, s.hidden);
  if (s.attention_gate) sum += product(s.hidden, q);
  if (s.qkv_bias) sum += q + 2 * kv;
  if (s.attention_out_bias) sum += s.hidden;
  if (s.qk_norm) sum += 2 * s.head_dim;
  if (s.qk_norm_whole) sum += q + kv;
  if (s.sinks) sum += s.heads;
  return sum;
}

std::int64_t recurrence(const TransformerSpec& s) {
  const RecurrenceShape& r = s.recurrence;
  const std::int64_t biases = s.recurrence_bias ? r.input_width() + s.hidden : 0;
  return s.hidden * (r.input_width() + r.value_width()) + biases + recurrence_parameters(r).total();
}

std::int64_t network(const TransformerSpec& s, int inner) {
  const std::int64_t matrices = (s.gated ? 3 : 2) * product(s.hidden, inner);
  return matrices + (s.inner_bias ? (s.gated ? 2 : 1) * std::int64_t{inner} + s.hidden : 0);
}

struct Mixture {
  std::int64_t always, routed;
};

Mixture mixture(const TransformerSpec& s) {
  const MixtureSpec& m = s.mixture;
  const std::int64_t shared = m.shared_inner > 0 ? network(s, m.shared_inner) + (m.shared_gate ? s.hidden : 0) : 0;
  const std::int64_t router = product(s.hidden, m.count) + (m.balancing_bias ? m.count : 0);
  const std::int64_t biases = m.bias ? std::int64_t{s.gated ? 2 : 1} * m.inner + s.hidden : 0;
  return {shared + router, m.count * ((s.gated ? 3 : 2) * product(s.hidden, m.inner) + biases)};
}

std::int64_t output_parameters(const TransformerSpec& s) {
  const std::int64_t table = s.tied_output ? 0 : product(s.hidden, s.vocabulary);
  std::int64_t sum = table + (s.output_bias ? s.vocabulary : 0);
  const bool is_masked = s.objective == Objective::masked_token || s.objective == Objective::masked_and_next_sentence;
  if (is_masked) sum += product(s.hidden, s.hidden) + s.hidden + norm_parameters(s, s.hidden);
  if (s.objective == Objective::masked_and_next_sentence)
    sum += product(s.hidden, s.hidden) + s.hidden + 2 * s.hidden + 2;
  return sum;
}

std::int64_t embeddings(const TransformerSpec& s) {
  if (s.patches.image > 0) {
    const int side = s.patches.image / s.patches.patch;
    return product(s.patches.patch * s.patches.patch * s.patches.channels, s.hidden) + s.hidden +
           product(side * side + 1, s.hidden) + s.hidden;
  }
  const int width = s.embedding_width > 0 ? s.embedding_width : s.hidden;
  const int sides = s.decoder_layers > 0 ? 2 : 1;  // encoder and decoder have their own positions and norms
  std::int64_t sum = product(s.vocabulary, width) + sides * product(s.position_rows + s.token_types, s.hidden);
  if (width != s.hidden) sum += 2 * product(width, s.hidden);
  return sum + (s.embedding_norm ? sides * norm_parameters(s, s.hidden) : 0);
}

}  // namespace

bool TransformerSpec::has_experts(int layer) const {
  if (!layer_parts.empty()) return layer_parts[to_index(layer)].feed_forward == FeedForward::experts;
  const MixtureSpec& m = mixture;
  const bool is_named_dense = std::count(m.dense_layers.begin(), m.dense_layers.end(), layer) > 0;
  return m.count > 0 && layer >= m.first && layer % m.every == m.phase && !is_named_dense;
}

LayerParts TransformerSpec::parts_of(int layer) const {
  if (!layer_parts.empty()) return layer_parts[to_index(layer)];
  return {TokenMixing::attention, has_experts(layer) ? FeedForward::experts : FeedForward::network};
}

bool TransformerSpec::has_recurrence() const {
  return std::any_of(layer_parts.begin(), layer_parts.end(),
                     [](const LayerParts& parts) { return parts.mixing == TokenMixing::recurrence; });
}

DistinctLayers find_distinct_layers(const TransformerSpec& spec) {
  DistinctLayers distinct{spec, {}};
  // Experts and window do not identify a layer if rotary positions depend on its number, or if there is a decoder.
  if (spec.unturned_every > 0 || spec.decoder_layers > 0) {
    for (int layer = 0; layer < spec.layers + spec.decoder_layers; ++layer)
      distinct.kind_of_layer.push_back(to_index(layer));
    return distinct;
  }
  std::map<std::pair<LayerParts, int>, std::size_t> known;
  distinct.spec.windows.clear();
  distinct.spec.layer_parts.clear();
  distinct.spec.mixture.first = distinct.spec.mixture.phase = 0;
  distinct.spec.mixture.every = 1;
  distinct.spec.mixture.dense_layers.clear();
  for (int layer = 0; layer < spec.layers; ++layer) {
    const auto [kind, is_new] = known.try_emplace({spec.parts_of(layer), spec.window_of(layer)}, known.size());
    distinct.kind_of_layer.push_back(kind->second);
    if (!is_new) continue;
    if (!spec.windows.empty()) distinct.spec.windows.push_back(spec.window_of(layer));
    if (!spec.layer_parts.empty()) distinct.spec.layer_parts.push_back(spec.parts_of(layer));
    if (!spec.has_experts(layer)) distinct.spec.mixture.dense_layers.push_back(static_cast<int>(kind->second));
  }
  distinct.spec.layers = static_cast<int>(known.size());
  return distinct;
}

int TransformerSpec::usual_tokens() const {
  if (patches.image > 0) return (patches.image / patches.patch) * (patches.image / patches.patch) + 1;
  return std::min(context, kMostUsualTokens);
}

ParameterParts parameters_of(const TransformerSpec& s) {
  ParameterParts parts;
  parts.embeddings = embeddings(s);
  parts.output = output_parameters(s);
  const int blocks = s.layers + s.decoder_layers;
  // The decoder also attends to the encoder's output. Encoder and decoder each have a table of distances.
  const std::int64_t tables = (s.decoder_layers > 0 ? 2 : 1) * product(s.distance_buckets, s.heads);
  parts.attention = s.decoder_layers * attention(s) + tables;
  const int norms_around_part = s.norm_place == NormPlace::both ? 2 : 1;
  int norms = s.decoder_layers + (s.final_norm ? (s.decoder_layers > 0 ? 2 : 1) : 0);
  for (int layer = 0; layer < blocks; ++layer) {
    const LayerParts of_layer = s.parts_of(layer);
    const bool has_both = of_layer.mixing != TokenMixing::none && of_layer.feed_forward != FeedForward::none;
    norms += norms_around_part * (has_both && s.norm_place != NormPlace::parallel_one ? 2 : 1);
    if (of_layer.mixing == TokenMixing::attention) parts.attention += attention(s);
    if (of_layer.mixing == TokenMixing::recurrence) parts.recurrence += recurrence(s);
    if (of_layer.feed_forward == FeedForward::network) parts.feed_forward += network(s, s.inner);
    if (of_layer.feed_forward != FeedForward::experts) continue;
    parts.feed_forward += mixture(s).always;
    parts.experts += mixture(s).routed;
  }
  parts.norms = norms * norm_parameters(s, s.hidden);
  return parts;
}

std::int64_t active_parameters(const TransformerSpec& s) {
  const ParameterParts parts = parameters_of(s);
  const std::int64_t routed = s.mixture.count > 0 ? parts.experts / s.mixture.count * s.mixture.active : 0;
  const std::int64_t all = parts.total() - parts.experts + routed;
  const bool reads_table_whole = s.tied_output || s.patches.image > 0;
  const int width = s.embedding_width > 0 ? s.embedding_width : s.hidden;
  return all - (reads_table_whole ? 0 : product(s.vocabulary, width));
}

}  // namespace lockstep::model
