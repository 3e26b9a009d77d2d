#include "engine/model/transformer/token_blocks.hpp"

namespace lockstep::model {

int TokenBlocks::attention(const std::string& name, int at, int memory, const AttentionPart& part) {
  const int width = part.heads * part.head_dim, out = net_.shape(at).channels;
  int q = net_.linear(name + "/q", at, width, part.qv_bias), k = net_.linear(name + "/k", memory, width, part.k_bias);
  const int v = net_.linear(name + "/v", memory, width, part.qv_bias);
  if (part.norm_width > 0) {
    q = net_.norm(name + "/q/norm", LayerKind::rms_norm, q, part.norm_width);
    k = net_.norm(name + "/k/norm", LayerKind::rms_norm, k, part.norm_width);
  }
  if (part.rotary) {
    q = net_.rotary(name + "/q/rotary", q);
    k = net_.rotary(name + "/k/rotary", k);
  }
  AttentionShape shape;
  shape.heads = shape.kv_heads = part.heads;
  shape.head_dim = shape.value_dim = part.head_dim;
  shape.causal = part.causal;
  return net_.linear(name + "/out", net_.attention(name + "/attention", {q, k, v}, shape), out, part.out_bias);
}

int TokenBlocks::network(const std::string& name, int at, int inner, LayerKind activation, bool is_gated) {
  const int out = net_.shape(at).channels;
  int between = net_.activation(name + "/active", activation, net_.linear(name + "/up", at, inner));
  if (is_gated) between = net_.multiply(name + "/gated", {between, net_.linear(name + "/gate", at, inner)});
  return net_.linear(name + "/down", between, out);
}

int TokenBlocks::pre_norm_block(const std::string& name, int at, const AttentionPart& part, int inner,
                                LayerKind activation) {
  const int normed = layer_norm(name + "/norm1", at);
  at = net_.add(name + "/add1", {at, attention(name, normed, normed, part)});
  return net_.add(name + "/add2", {at, network(name, layer_norm(name + "/norm2", at), inner, activation)});
}

int TokenBlocks::add_input(const std::string& name, int tokens, int features) {
  return net_.opaque(name, {0}, {features, tokens, 1}, {}, 0);
}

int TokenBlocks::add_modulated_norm(const std::string& name, int at, int vector) {
  return net_.opaque(name, {at, vector}, net_.shape(at), {}, 0);
}

int TokenBlocks::vector_network(const std::string& name, int at, int inner, int out) {
  const int between = net_.activation(name + "/active", LayerKind::silu, net_.linear(name + "/1", at, inner));
  return net_.linear(name + "/2", between, out);
}

}  // namespace lockstep::model
