#include "engine/model/transformer/composite.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::model {
namespace {

struct Composite {
  const char* key;
  const char* type;
  Graph (*read)(const JsonNode&);
};

const std::vector<Composite>& all_composites() {
  static const std::vector<Composite> all{{"model_type", "clip", read_clip},
                                          {"model_type", "whisper", read_whisper},
                                          {"_class_name", "FluxTransformer2DModel", read_flux},
                                          {"_class_name", "WanTransformer3DModel", read_wan},
                                          {"_class_name", "UNet2DConditionModel", read_unet}};
  return all;
}

const Composite* composite_of(const JsonNode& node) {
  if (!node.is_object()) return nullptr;
  for (const Composite& one : all_composites()) {
    const auto type = node.find(one.key);
    if (type && type->is_string() && type->text() == one.type) return &one;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> composite_types() {
  std::vector<std::string> types;
  for (const Composite& one : all_composites()) types.emplace_back(one.type);
  return types;
}

bool is_composite(const JsonNode& node) {
  return composite_of(node) != nullptr;
}

Graph read_composite(const JsonNode& node, int tokens) {
  const Composite& composite = *composite_of(node);
  if (tokens > 0)
    node.at(composite.key)
        .fail("samples of " + in_quotes(composite.type) + " have one size",
              "allowed: the configuration without a number of tokens");
  return composite.read(node);
}

}  // namespace lockstep::model
