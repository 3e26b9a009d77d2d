// Stable Diffusion's denoising network, versions 1, 2 and XL (Rombach et al. 2022; Podell et al. 2023,
// arXiv:2307.01952), by diffusers' configuration: residual blocks down and up, with attention over pixels and text.
// Latents and text are inputs; computing them is not included. Group norms are timed as batch norms and the squared
// error as a softmax: each moves as much memory.
#include <algorithm>

#include "engine/model/transformer/composite.hpp"
#include "engine/model/transformer/config_reader.hpp"
#include "engine/model/transformer/families.hpp"
#include "engine/model/transformer/token_blocks.hpp"

namespace lockstep::model {
namespace {

constexpr int kTextTokens = 77;  // CLIP's sequence length

struct Level {
  int channels;
  int heads;
  int transformers;  ///< layers of each transformer; 0: the level has none
};

// Reads one number for all levels, or one for each.
std::vector<int> per_level(const ConfigReader& c, const std::string& key, std::size_t levels, int otherwise) {
  if (!c.has(key) || !c.at(key).is_array()) return std::vector<int>(levels, c.whole(key, otherwise));
  std::vector<int> values = c.wholes(key);
  if (values.size() != levels || std::count(values.begin(), values.end(), 0) > 0)
    c.fail(key, "array of " + std::to_string(values.size()), "a number above 0 for each of block_out_channels");
  return values;
}

class UnetBuilder {
 public:
  UnetBuilder(const ConfigReader& c, std::vector<Level> levels, int size)
      : levels_(std::move(levels)),
        blocks_per_level_(c.whole("layers_per_block", 2)),
        in_channels_(c.whole("in_channels", 4)),
        out_channels_(c.whole("out_channels", 4)),
        text_width_(c.whole("cross_attention_dim", 1280)),
        is_linear_(c.boolean("use_linear_projection", false)),
        vector_width_(c.has("addition_embed_type") ? c.whole("projection_class_embeddings_input_dim", 2816) : 0),
        net_("unet",
             "U-Net of a diffusion model, " + std::to_string(levels_.front().channels) + " channels, latents of " +
                 std::to_string(size) + " x " + std::to_string(size),
             {in_channels_, size, size}),
        blocks_(net_) {}

  Graph build() {
    steer();
    text_ = blocks_.add_input("text/tokens", kTextTokens, text_width_);
    int at = conv("in", 0, levels_.front().channels, 3);
    std::vector<int> kept{at};
    for (std::size_t i = 0; i < levels_.size(); ++i) at = go_down("down" + std::to_string(i + 1), at, i, kept);
    at = residual("mid/1", at, levels_.back().channels);
    at = transformer("mid/2", at, levels_.back().heads, std::max(1, levels_.back().transformers));
    at = residual("mid/3", at, levels_.back().channels);
    for (std::size_t i = levels_.size(); i-- > 0;) at = go_up("up" + std::to_string(i + 1), at, i, kept);
    at = net_.activation("last/active", LayerKind::silu, net_.batch_norm("last/norm", at));
    net_.softmax("loss", conv("noise", at, out_channels_, 3));
    return net_.finish();
  }

 private:
  int conv(const std::string& name, int at, int channels, int kernel, int stride = 1) {
    Window window;
    window.kernel_h = window.kernel_w = kernel;
    window.stride_h = window.stride_w = stride;
    window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = kernel / 2;
    return net_.conv(name, at, channels, window, true);
  }

  // Computes a vector of the time; in SDXL also of the image's size and the whole text.
  void steer() {
    const int width = 4 * levels_.front().channels;
    int vector =
        blocks_.vector_network("time", blocks_.add_input("time/sines", 1, levels_.front().channels), width, width);
    if (vector_width_ > 0) {
      const int more = blocks_.vector_network("size", blocks_.add_input("size/vector", 1, vector_width_), width, width);
      vector = net_.add("steering/add", {vector, more});
    }
    steering_ = net_.activation("steering", LayerKind::silu, vector);
  }

  int residual(const std::string& n, int at, int channels) {
    int out = net_.activation(n + "/active1", LayerKind::silu, net_.batch_norm(n + "/norm1", at));
    out = conv(n + "/conv1", out, channels, 3);
    const int vector = net_.linear(n + "/time", steering_, channels);
    out = net_.opaque(n + "/steered", {out, vector}, net_.shape(out), {}, 0);
    out = net_.activation(n + "/active2", LayerKind::silu, net_.batch_norm(n + "/norm2", out));
    out = conv(n + "/conv2", out, channels, 3);
    const bool changes = net_.shape(at).channels != channels;
    return net_.add(n + "/add", {changes ? conv(n + "/shortcut", at, channels, 1) : at, out});
  }

  int transformer(const std::string& n, int at, int heads, int layers) {
    const Shape image = net_.shape(at);
    AttentionPart part;
    part.heads = heads;
    part.head_dim = image.channels / heads;
    part.qv_bias = part.k_bias = false;
    const int normed = net_.batch_norm(n + "/norm", at);
    int tokens = is_linear_ ? net_.linear(n + "/in", normed, image.channels)
                            : as_tokens(n + "/tokens", conv(n + "/in", normed, image.channels, 1));
    for (int layer = 1; layer <= layers; ++layer) tokens = block(n + "/" + std::to_string(layer), tokens, part);
    if (is_linear_) tokens = net_.linear(n + "/out", tokens, image.channels);
    int back = net_.opaque(n + "/pixels", {tokens}, image, {}, 0);
    if (!is_linear_) back = conv(n + "/out", back, image.channels, 1);
    return net_.add(n + "/add", {at, back});
  }

  int as_tokens(const std::string& n, int at) {
    const Shape image = net_.shape(at);
    return net_.opaque(n, {at}, {image.channels, image.height * image.width, 1}, {}, 0);
  }

  int block(const std::string& n, int at, const AttentionPart& part) {
    const int normed = blocks_.layer_norm(n + "/norm1", at);
    at = net_.add(n + "/add1", {at, blocks_.attention(n, normed, normed, part)});
    at =
        net_.add(n + "/add2", {at, blocks_.attention(n + "/cross", blocks_.layer_norm(n + "/norm2", at), text_, part)});
    const int inner = 4 * net_.shape(at).channels;
    return net_.add(n + "/add3",
                    {at, blocks_.network(n, blocks_.layer_norm(n + "/norm3", at), inner, LayerKind::gelu, true)});
  }

  int go_down(const std::string& n, int at, std::size_t i, std::vector<int>& kept) {
    const Level& level = levels_[i];
    for (int block = 1; block <= blocks_per_level_; ++block) {
      const std::string name = n + "/" + std::to_string(block);
      at = residual(name, at, level.channels);
      if (level.transformers > 0) at = transformer(name + "/text", at, level.heads, level.transformers);
      kept.push_back(at);
    }
    if (i + 1 == levels_.size()) return at;
    at = conv(n + "/smaller", at, level.channels, 3, 2);
    kept.push_back(at);
    return at;
  }

  int go_up(const std::string& n, int at, std::size_t i, std::vector<int>& kept) {
    const Level& level = levels_[i];
    for (int block = 1; block <= blocks_per_level_ + 1; ++block) {
      const std::string name = n + "/" + std::to_string(block);
      at = residual(name, net_.concat(name + "/join", {at, kept.back()}), level.channels);
      kept.pop_back();
      if (level.transformers > 0) at = transformer(name + "/text", at, level.heads, level.transformers);
    }
    if (i == 0) return at;
    const Shape image = net_.shape(at);
    const int larger = net_.opaque(n + "/larger", {at}, {image.channels, 2 * image.height, 2 * image.width}, {}, 0);
    return conv(n + "/larger/conv", larger, level.channels, 3);
  }

  std::vector<Level> levels_;
  int blocks_per_level_, in_channels_, out_channels_, text_width_;
  bool is_linear_;
  int vector_width_;
  GraphBuilder net_;
  TokenBlocks blocks_;
  int steering_ = 0, text_ = 0;
};

}  // namespace

Graph read_unet(const JsonNode& node) {
  const ConfigReader c(node, "UNet2DConditionModel");
  std::vector<int> channels = c.wholes("block_out_channels");
  if (channels.empty()) channels = {320, 640, 1280, 1280};
  for (const int width : channels)
    if (width < 1) c.fail("block_out_channels", "a level without channels", "numbers above 0");
  const std::size_t count = channels.size();
  // diffusers has numbers of heads under "attention_head_dim", a misnomer that it keeps.
  const std::vector<int> heads = per_level(c, c.given_of({"num_attention_heads", "attention_head_dim"}), count, 8);
  const std::vector<int> depth = per_level(c, "transformer_layers_per_block", count, 1);
  std::vector<bool> attends(count, true);
  attends.back() = false;
  if (c.has("down_block_types")) {
    const std::vector<JsonNode> types = c.at("down_block_types").items();
    if (types.size() != count)
      c.fail("down_block_types", "array of " + std::to_string(types.size()), "one for each of block_out_channels");
    for (std::size_t i = 0; i < count; ++i)
      attends[i] = types[i].choice({"CrossAttnDownBlock2D", "DownBlock2D"}) == "CrossAttnDownBlock2D";
  }
  for (const char* key : {"class_embed_type", "num_class_embeds", "encoder_hid_dim", "time_cond_proj_dim"})
    c.must_be(key, nullptr, "this part of a U-Net is not modelled");
  for (const char* key : {"only_cross_attention", "dual_cross_attention"})
    c.must_be(key, false, "other attention than to the pixels and then to the text is not modelled");
  c.must_be("mid_block_type", "UNetMidBlock2DCrossAttn", "another block in the middle is not modelled");
  c.must_be("addition_embed_type", "text_time", "other further inputs are not modelled");
  std::vector<Level> levels;
  for (std::size_t i = 0; i < count; ++i) {
    if (channels[i] % heads[i] != 0)
      c.fail("block_out_channels",
             std::to_string(channels[i]) + " channels are no " + std::to_string(heads[i]) + " heads",
             "multiples of the heads");
    levels.push_back({channels[i], heads[i], attends[i] ? depth[i] : 0});
  }
  const int size = c.whole("sample_size", 64), least = 1 << (count - 1);
  if (size % least != 0)
    c.fail("sample_size", std::to_string(size) + " is not halved " + std::to_string(count - 1) + " times",
           "multiples of " + std::to_string(least));
  return UnetBuilder(c, levels, size).build();
}

}  // namespace lockstep::model
