#include "sim/records/shape_model.hpp"

#include "engine/base/json.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr int kInnerOverHidden = 4;

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

}  // namespace

std::shared_ptr<const OwnModel> at_sequence(const ModelEntry& entry, int tokens) {
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

bool says_shape(const ShapeSpec& shape) {
  return shape.layers > 0 && shape.hidden > 0 && shape.heads > 0 && shape.hidden % shape.heads == 0;
}

std::shared_ptr<const OwnModel> model_of_shape(const ShapeSpec& shape, const std::string& name) {
  const model::TransformerSpec spec = gpt_of(shape, name);
  auto own = std::make_shared<OwnModel>();
  own->entry.id = name;
  own->entry.tokens = spec.context;
  try {
    own->fused = model::transformer_graph(spec, {spec.context, true});
    own->graph = model::transformer_graph(spec, {spec.context, false});
  } catch (const InputError&) {  // scores of long sequences are beyond any memory
    if (!own->fused) return nullptr;
    own->graph = *own->fused;
  }
  return own;
}

}  // namespace records
}  // namespace lockstep::sim
