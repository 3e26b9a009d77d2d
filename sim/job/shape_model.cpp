#include "sim/job/shape_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/json.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::sim::job {
namespace {

constexpr int kInnerOverHidden = 4;

using SharedModel = std::shared_ptr<const OwnModel>;

model::TransformerSpec gpt_of(const ShapeSpec& shape, const std::string& name) {
  model::TransformerSpec spec;
  spec.name = spec.title = name;
  spec.layers = shape.layers;
  spec.hidden = shape.hidden;
  spec.heads = spec.kv_heads = shape.heads;
  spec.head_dim = shape.hidden / shape.heads;
  spec.inner = kInnerOverHidden * shape.hidden;
  spec.positions = model::PositionKind::learned;
  spec.context = shape.sequence > 0 ? shape.sequence : kUsualTokens;
  spec.position_rows = spec.context;
  spec.vocabulary = shape.vocabulary > 0 ? shape.vocabulary : kUsualVocabulary;
  spec.tied_output = true;
  spec.qkv_bias = spec.attention_out_bias = spec.inner_bias = true;
  return spec;
}

SharedModel make_at_sequence(const ModelEntry& entry, int tokens) {
  const std::string at = "@" + std::to_string(tokens);
  auto own = std::make_shared<OwnModel>();
  own->entry = entry;
  own->entry.id += at;
  own->entry.tokens = tokens;
  try {
    own->fused = model::zoo_graph(model::fused_attention_name(own->entry.id));
    own->graph = model::zoo_graph(own->entry.id);
  } catch (const InputError&) {
    if (!own->fused) return nullptr;
    own->graph = *own->fused;
  }
  return own;
}

SharedModel make_of_spec(const model::TransformerSpec& spec, ModelEntry entry, int tokens) {
  auto own = std::make_shared<OwnModel>();
  own->entry = std::move(entry);
  own->entry.tokens = tokens;
  try {
    own->fused = model::transformer_graph(spec, {tokens, true});
    own->graph = model::transformer_graph(spec, {tokens, false});
  } catch (const InputError&) {  // the scores of long sequences exceed any memory
    if (!own->fused) return nullptr;
    own->graph = *own->fused;
  }
  return own;
}

SharedModel make_of_shape(const ShapeSpec& shape, const std::string& name) {
  const model::TransformerSpec spec = gpt_of(shape, name);
  ModelEntry entry;
  entry.id = name;
  return make_of_spec(spec, entry, spec.context);
}

}  // namespace

std::shared_ptr<const OwnModel> find_with_sequence(const ModelEntry& entry, int tokens, OwnModels& models) {
  const std::string key = entry.id + "@" + std::to_string(tokens) + "/" + std::to_string(entry.train_samples);
  return models.find_or_make(key, [&] { return make_at_sequence(entry, tokens); });
}

std::shared_ptr<const OwnModel> of_layers(const ModelEntry& entry, int layers, int tokens, OwnModels& models) {
  const std::string fused = model::fused_attention_name(entry.id);
  const model::Graph& whole = model::zoo_graph(fused);
  if (!whole.transformer || layers >= whole.transformer->spec.layers) return nullptr;
  model::TransformerSpec spec = whole.transformer->spec;
  spec.layers = layers;
  if (!spec.windows.empty()) spec.windows.resize(static_cast<std::size_t>(layers));
  if (!spec.layer_parts.empty()) spec.layer_parts.resize(static_cast<std::size_t>(layers));
  spec.mixture.first =
      std::min(spec.mixture.first, 1);  // in a model cut down to a node, there is one dense layer before the experts
  auto& dense = spec.mixture.dense_layers;
  dense.erase(std::remove_if(dense.begin(), dense.end(), [layers](int layer) { return layer >= layers; }), dense.end());
  ModelEntry cut = entry;
  cut.id += "/" + std::to_string(layers);
  const int length = tokens > 0 ? tokens : entry.tokens;
  const std::string key = cut.id + "@" + std::to_string(length) + "/" + std::to_string(entry.train_samples);
  return models.find_or_make(key, [&] { return make_of_spec(spec, cut, length); });
}

bool complete_shape(ShapeSpec& shape, int tensor) {
  constexpr double kUsualHead = 128;
  const double vocabulary = shape.vocabulary > 0 ? shape.vocabulary : kUsualVocabulary, hidden = shape.hidden;
  const double of_layers = shape.parameters - vocabulary * hidden;
  if (shape.layers > 0 || hidden < 1 || of_layers <= 0) return false;
  const int layers = std::max(1, static_cast<int>(std::lround(of_layers / (12 * hidden * hidden))));
  double best = std::numeric_limits<double>::infinity();
  int nearest = shape.heads;
  for (int heads = std::max(1, tensor); shape.heads == 0 && heads <= shape.hidden; heads += std::max(1, tensor)) {
    const double off = std::abs(std::log(hidden / heads / kUsualHead));
    if (shape.hidden % heads != 0 || off >= best) continue;
    best = off;
    nearest = heads;
  }
  if (nearest == 0) return false;
  shape.layers = layers;
  shape.heads = nearest;
  return true;
}

bool says_shape(const ShapeSpec& shape) {
  return shape.layers > 0 && shape.hidden > 0 && shape.heads > 0 && shape.hidden % shape.heads == 0;
}

std::shared_ptr<const OwnModel> model_of_shape(const ShapeSpec& shape, const std::string& name, OwnModels& models) {
  std::string key = name;
  for (const int number : {shape.layers, shape.hidden, shape.heads, shape.sequence, shape.vocabulary})
    key += "/" + std::to_string(number);
  return models.find_or_make(key, [&] { return make_of_shape(shape, name); });
}

}  // namespace lockstep::sim::job
