// Diffusion transformers by diffusers' configurations: Flux (Black Forest Labs 2024), Wan 2.1 (Alibaba 2025,
// arXiv:2503.20314). Vectors of time and text scale and shift each block's norms. Outputs of the text and image
// encoders are inputs; computing them is not included. The squared error is timed as a softmax.
#include "engine/model/transformer/composite.hpp"
#include "engine/model/transformer/config_reader.hpp"
#include "engine/model/transformer/families.hpp"
#include "engine/model/transformer/token_blocks.hpp"

namespace lockstep::model {
namespace {

constexpr int kTimeFeatures = 256;                               // sine features of the time
constexpr int kTextTokens = 512;                                 // T5's sequence length in training
constexpr int kFluxTokens = 64 * 64;                             // 1,024 pixels per side / 8 (encoder) / 2 (patches)
constexpr int kWanFrames = 21, kWanHeight = 30, kWanWidth = 52;  // latents of 81 frames of 480 x 832 pixels

struct FluxSizes {
  int width, text, inner;
  AttentionPart part;
};

int joint_tokens(GraphBuilder& net, const std::string& name, const std::vector<int>& sides) {
  int tokens = 0;
  for (const int side : sides) tokens += net.shape(side).height;
  return net.opaque(name, sides, {net.shape(sides[0]).channels, tokens, 1}, {}, 0);
}

// Holds the matrices of one side's queries, keys and values, with norms per head.
struct Heads {
  int q, k, v;
};

Heads heads_of(GraphBuilder& net, const std::string& n, int at, const FluxSizes& s) {
  const int q = net.norm(n + "/q/norm", LayerKind::rms_norm, net.linear(n + "/q", at, s.width), s.part.head_dim);
  const int k = net.norm(n + "/k/norm", LayerKind::rms_norm, net.linear(n + "/k", at, s.width), s.part.head_dim);
  return {q, k, net.linear(n + "/v", at, s.width)};
}

int attend(GraphBuilder& net, const std::string& n, const Heads& heads, const FluxSizes& s) {
  AttentionShape shape;
  shape.heads = shape.kv_heads = s.part.heads;
  shape.head_dim = shape.value_dim = s.part.head_dim;
  return net.attention(n + "/attention",
                       {net.rotary(n + "/q/rotary", heads.q), net.rotary(n + "/k/rotary", heads.k), heads.v}, shape);
}

struct Sides {
  int image, text;
};

Sides double_block(GraphBuilder& net, TokenBlocks& blocks, const std::string& n, Sides at, int steering,
                   const FluxSizes& s) {
  const std::string of_image = n + "/image", of_text = n + "/text";
  const int steers_image = net.linear(of_image + "/steering", steering, 6 * s.width);
  const int steers_text = net.linear(of_text + "/steering", steering, 6 * s.width);
  const Heads image =
      heads_of(net, of_image, blocks.add_modulated_norm(of_image + "/norm1", at.image, steers_image), s);
  const Heads text = heads_of(net, of_text, blocks.add_modulated_norm(of_text + "/norm1", at.text, steers_text), s);
  const Heads both{joint_tokens(net, n + "/q", {text.q, image.q}), joint_tokens(net, n + "/k", {text.k, image.k}),
                   joint_tokens(net, n + "/v", {text.v, image.v})};
  const int attended = attend(net, n, both, s);
  const auto behind = [&](const std::string& name, int side, int steers, int tokens) {
    const int out = net.linear(name + "/out", net.take(name + "/attended", attended, tokens), s.width);
    side = net.add(name + "/add1", {side, out});
    const int normed = blocks.add_modulated_norm(name + "/norm2", side, steers);
    return net.add(name + "/add2", {side, blocks.network(name, normed, s.inner, LayerKind::gelu)});
  };
  return {behind(of_image, at.image, steers_image, kFluxTokens), behind(of_text, at.text, steers_text, kTextTokens)};
}

// Attention and the feed-forward network run in parallel after one norm. One output matrix takes both results.
int single_block(GraphBuilder& net, TokenBlocks& blocks, const std::string& n, int at, int steering,
                 const FluxSizes& s) {
  const int normed = blocks.add_modulated_norm(n + "/norm", at, net.linear(n + "/steering", steering, 3 * s.width));
  const int attended = attend(net, n, heads_of(net, n, normed, s), s);
  const int up = net.activation(n + "/active", LayerKind::gelu, net.linear(n + "/up", normed, s.inner));
  return net.add(n + "/add", {at, net.linear(n + "/out", net.concat(n + "/join", {attended, up}), s.width)});
}

}  // namespace

Graph read_flux(const JsonNode& node) {
  const ConfigReader c(node, "FluxTransformer2DModel");
  FluxSizes s;
  s.part.heads = c.whole("num_attention_heads", 24);
  s.part.head_dim = c.whole("attention_head_dim", 128);
  s.width = s.part.heads * s.part.head_dim;
  s.inner = 4 * s.width;
  s.text = c.whole("joint_attention_dim", 4096);
  const int channels = c.whole("in_channels", 64), pooled = c.whole("pooled_projection_dim", 768);
  const int doubles = c.whole("num_layers", 19, 1, families::kMostLayers);
  const int singles = c.whole("num_single_layers", 38, 0, families::kMostLayers);
  GraphBuilder net("flux",
                   "Flux, " + std::to_string(doubles) + " + " + std::to_string(singles) + " layers of " +
                       std::to_string(s.width) + ", 1024 x 1024 pixels",
                   {channels, kFluxTokens, 1});
  TokenBlocks blocks(net);
  Sides at{net.linear("image", 0, s.width),
           net.linear("text", blocks.add_input("text/tokens", kTextTokens, s.text), s.width)};
  int steering = blocks.vector_network("time", blocks.add_input("time/sines", 1, kTimeFeatures), s.width, s.width);
  if (c.boolean("guidance_embeds", false)) {
    const int guidance =
        blocks.vector_network("guidance", blocks.add_input("guidance/sines", 1, kTimeFeatures), s.width, s.width);
    steering = net.add("time/guided", {steering, guidance});
  }
  const int of_text = blocks.vector_network("pooled", blocks.add_input("pooled/text", 1, pooled), s.width, s.width);
  steering = net.activation("steering", LayerKind::silu, net.add("steering/add", {steering, of_text}));
  for (int i = 1; i <= doubles; ++i) at = double_block(net, blocks, "d" + std::to_string(i), at, steering, s);
  int all = joint_tokens(net, "joined", {at.text, at.image});
  for (int i = 1; i <= singles; ++i) all = single_block(net, blocks, "s" + std::to_string(i), all, steering, s);
  const int steers = net.linear("last/steering", steering, 2 * s.width);
  const int image = blocks.add_modulated_norm("last/norm", net.take("last/image", all, kFluxTokens), steers);
  net.softmax("loss", net.linear("noise", image, channels));
  return net.finish();
}

Graph read_wan(const JsonNode& node) {
  const ConfigReader c(node, "WanTransformer3DModel");
  AttentionPart part;
  part.heads = c.whole("num_attention_heads", 40);
  part.head_dim = c.whole("attention_head_dim", 128);
  const int width = part.heads * part.head_dim, inner = c.whole("ffn_dim", 13824);
  const int layers = c.whole("num_layers", 40, 1, families::kMostLayers);
  const int channels = c.whole("in_channels", 16), out_channels = c.whole("out_channels", 16);
  const int text_width = c.whole("text_dim", 4096), time_width = c.whole("freq_dim", kTimeFeatures);
  const bool has_cross_norm = c.boolean("cross_attn_norm", true);
  for (const char* key : {"image_dim", "added_kv_proj_dim"})
    c.must_be(key, nullptr, "attention to an image is not modelled");
  c.must_be("qk_norm", "rms_norm_across_heads", "other norms of queries and keys are not known");
  c.must_be("patch_size", Json::array({1, 2, 2}), "other patches are not known");
  part.norm_width = width;
  AttentionPart own = part;
  own.rotary = true;
  constexpr int kPatch = 4, kTokens = kWanFrames * kWanHeight * kWanWidth;
  GraphBuilder net(
      "wan",
      "Wan, " + std::to_string(layers) + " layers of " + std::to_string(width) + ", 81 frames of 832 x 480 pixels",
      {kPatch * channels, kTokens, 1});
  TokenBlocks blocks(net);
  int at = net.linear("patches", 0, width);
  const int read = blocks.add_input("text/tokens", kTextTokens, text_width);
  const int text =
      net.linear("text/2", net.activation("text/active", LayerKind::gelu, net.linear("text/1", read, width)), width);
  const int time = blocks.vector_network("time", blocks.add_input("time/sines", 1, time_width), width, width);
  const int steering = net.linear("steering", net.activation("time/silu", LayerKind::silu, time), 6 * width);
  for (int layer = 1; layer <= layers; ++layer) {
    const std::string n = "l" + std::to_string(layer);
    // Each block learns a vector of six shifts and scales.
    const int normed = net.opaque(n + "/norm1", {at, steering}, net.shape(at), {6 * std::int64_t{width}}, 0);
    at = net.add(n + "/add1", {at, blocks.attention(n, normed, normed, own)});
    const int asking = has_cross_norm ? blocks.layer_norm(n + "/norm3", at) : at;
    at = net.add(n + "/add2", {at, blocks.attention(n + "/cross", asking, text, part)});
    at =
        net.add(n + "/add3",
                {at, blocks.network(n, blocks.add_modulated_norm(n + "/norm2", at, steering), inner, LayerKind::gelu)});
  }
  const int last = net.opaque("last/norm", {at}, net.shape(at), {2 * std::int64_t{width}}, 0);
  net.softmax("loss", net.linear("noise", last, kPatch * out_channels));
  return net.finish();
}

}  // namespace lockstep::model
