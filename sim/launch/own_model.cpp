#include "sim/launch/own_model.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/huggingface.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job/shape_model.hpp"
#include "sim/job/sized_name.hpp"

namespace lockstep::sim::launch {
namespace {

using model::TransformerSpec;

bool has_same_attention(const TransformerSpec& a, const TransformerSpec& b) {
  if (a.latent.kv_rank > 0 || b.latent.kv_rank > 0)
    return a.latent.kv_rank == b.latent.kv_rank && a.latent.q_rank == b.latent.q_rank &&
           a.latent.nope_dim == b.latent.nope_dim && a.latent.rope_dim == b.latent.rope_dim &&
           a.latent.value_dim == b.latent.value_dim;
  return a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.qkv_bias == b.qkv_bias && a.qk_norm == b.qk_norm &&
         a.qk_norm_whole == b.qk_norm_whole && a.sinks == b.sinks;
}

bool has_same_experts(const TransformerSpec& a, const TransformerSpec& b) {
  if (a.mixture.count != b.mixture.count) return false;
  bool is_same = true;
  for (int layer = 0; layer < a.layers; ++layer) is_same = is_same && a.has_experts(layer) == b.has_experts(layer);
  return a.mixture.count == 0 ||
         (is_same && a.mixture.active == b.mixture.active && a.mixture.inner == b.mixture.inner &&
          a.mixture.shared_inner == b.mixture.shared_inner && a.mixture.shared_gate == b.mixture.shared_gate);
}

bool has_dense_layer(const TransformerSpec& spec) {
  for (int layer = 0; layer < spec.layers; ++layer)
    if (!spec.has_experts(layer)) return true;
  return false;
}

// Compares everything that affects parameters and arithmetic, except vocabulary and dropout.
bool has_same_layers(const TransformerSpec& a, const TransformerSpec& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads && a.gated == b.gated &&
         a.activation == b.activation && a.norm == b.norm && a.norm_place == b.norm_place &&
         a.positions == b.positions && a.position_rows == b.position_rows && a.tied_output == b.tied_output &&
         a.attention_out_bias == b.attention_out_bias && a.inner_bias == b.inner_bias && a.windows == b.windows &&
         a.causal == b.causal && a.decoder_layers == b.decoder_layers && a.objective == b.objective &&
         a.patches.image == b.patches.image && a.recurrence == b.recurrence && a.layer_parts == b.layer_parts &&
         a.attention_gate == b.attention_gate && has_same_attention(a, b) && has_same_experts(a, b) &&
         (!has_dense_layer(a) || a.inner == b.inner);
}

// Finds the first entry with the same layers and, if `has_vocabulary`, the same vocabulary.
const ModelEntry* entry_of_shape(const TransformerSpec& spec, bool has_vocabulary, const Catalogue& catalogue) {
  for (const ModelEntry& entry : catalogue.models) {
    if (entry.tokens == 0) continue;
    const std::string name = model::fused_attention_name(entry.id);
    const model::Graph& graph = model::zoo_graph(name);
    if (!graph.transformer || !has_same_layers(graph.transformer->spec, spec)) continue;
    if (!has_vocabulary || graph.transformer->spec.vocabulary == spec.vocabulary) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string sized_name(const std::string& name, std::int64_t tokens) {
  return tokens > 0 ? name + "@" + std::to_string(tokens) : name;
}

ModelOption model_of_config(Json config, std::int64_t tokens, const Catalogue& catalogue, const std::string& where) {
  const bool has_vocabulary = config.contains("vocab_size");
  if (!has_vocabulary) config["vocab_size"] = kUsualVocabulary;
  const JsonDocument document = JsonDocument::parse(config.dump(), where);
  const TransformerSpec spec = model::transformer_of_huggingface(document.root());
  if (const ModelEntry* entry = entry_of_shape(spec, has_vocabulary, catalogue)) {
    const std::string note = has_vocabulary ? ""
                                            : "the vocabulary is the tokenizer's, which is not read: that of " +
                                                  entry->id + ", which has the same layers, is assumed";
    return {sized_name(entry->id, tokens), note};
  }
  return {sized_name(config.dump(), tokens),
          has_vocabulary ? ""
                         : "the vocabulary is the tokenizer's, which is not read: " + std::to_string(kUsualVocabulary) +
                               " words are assumed"};
}

int layers_of(const std::string& option, const Catalogue& catalogue) {
  const ModelEntry* const entry = catalogue.models.named(job::split_sized_name(option).model);
  if (entry == nullptr || entry->tokens == 0) return 0;
  const std::string fused = model::fused_attention_name(entry->id);
  const model::Graph& graph = model::zoo_graph(fused);
  return graph.transformer ? graph.transformer->spec.layers : 0;
}

bool is_known_dense(const std::string& option, const Catalogue& catalogue) {
  const std::string name = option.empty() ? "" : job::split_sized_name(option).model;
  if (name.empty()) return false;
  if (name.front() == '{') {
    const Json config = Json::parse(name, nullptr, false);
    return config.is_object() && !config.contains("num_experts");
  }
  const ModelEntry* const entry = catalogue.models.named(name);
  if (entry == nullptr || entry->tokens == 0) return false;
  const std::string fused = model::fused_attention_name(entry->id);
  const model::Graph& graph = model::zoo_graph(fused);
  return graph.transformer && graph.transformer->spec.mixture.count == 0;
}

}  // namespace lockstep::sim::launch
