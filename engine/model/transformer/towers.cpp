// Reads CLIP (Radford et al. 2021) and Whisper (Radford et al. 2022) from transformers' configurations.
#include "engine/model/transformer/composite.hpp"
#include "engine/model/transformer/config_reader.hpp"
#include "engine/model/transformer/families.hpp"
#include "engine/model/transformer/token_blocks.hpp"

namespace lockstep::model {
namespace {

struct Tower {
  int width, layers, heads, inner;
  LayerKind activation;
  AttentionPart attention;
};

Tower read_tower(const ConfigReader& c, int width, int layers, int heads, int inner) {
  Tower t;
  t.width = c.whole("hidden_size", width);
  t.layers = c.whole("num_hidden_layers", layers, 1, families::kMostLayers);
  t.heads = c.whole("num_attention_heads", heads);
  t.inner = c.whole("intermediate_size", inner);
  t.activation = c.activation("hidden_act", "quick_gelu");
  t.attention.heads = t.heads;
  t.attention.head_dim = families::share(c, "hidden_size", t.width, t.heads);
  return t;
}

int add_layers(TokenBlocks& blocks, const std::string& prefix, int at, const Tower& tower) {
  for (int layer = 1; layer <= tower.layers; ++layer)
    at = blocks.pre_norm_block(prefix + std::to_string(layer), at, tower.attention, tower.inner, tower.activation);
  return at;
}

// If the part is absent, reads `empty`: the defaults of its class.
ConfigReader part_of(const ConfigReader& all, const char* key, const char* class_name, const JsonDocument& empty) {
  if (all.has(key)) return ConfigReader(all.at(key), class_name);
  all.note(key, Json::object(), std::string("default of transformers' ") + class_name);
  return ConfigReader(empty.root(), class_name);
}

}  // namespace

Graph read_clip(const JsonNode& node) {
  const JsonDocument empty = JsonDocument::parse("{}", "config.json");
  const ConfigReader all(node, "CLIPConfig");
  const ConfigReader seeing = part_of(all, "vision_config", "CLIPVisionConfig", empty);
  const ConfigReader reading = part_of(all, "text_config", "CLIPTextConfig", empty);
  const Tower image = read_tower(seeing, 768, 12, 12, 3072);
  Tower text = read_tower(reading, 512, 12, 8, 2048);
  text.attention.causal = true;
  const int size = seeing.whole("image_size", 224), patch = seeing.whole("patch_size", 32);
  const int words = reading.whole("vocab_size", 49408), length = reading.whole("max_position_embeddings", 77);
  const int joint = all.whole("projection_dim", 512);
  const int patches = families::share(seeing, "image_size", size, patch) * (size / patch);
  GraphBuilder net("clip",
                   "CLIP, " + std::to_string(image.layers) + " layers of " + std::to_string(image.width) + " and " +
                       std::to_string(text.layers) + " of " + std::to_string(text.width),
                   {3, size, size});
  TokenBlocks blocks(net);
  Window window;
  window.kernel_h = window.kernel_w = window.stride_h = window.stride_w = patch;
  int seen = net.positions("image/positions", net.conv("image/patches", 0, image.width, window, false), patches + 1, 1);
  seen = add_layers(blocks, "image", blocks.layer_norm("image/norm0", seen), image);
  seen = blocks.layer_norm("image/norm", net.take("image/class", seen, 1));
  seen = net.linear("image/projection", seen, joint, false);
  int read = net.embedding("text/words", blocks.add_input("text/tokens", length, 1), words, text.width);
  read = add_layers(blocks, "text", net.positions("text/positions", read, length), text);
  read = net.linear("text/projection", net.take("text/end", blocks.layer_norm("text/norm", read), 1), joint, false);
  // Compares every image with every text of the batch: dot products, times one learned scale.
  net.softmax("loss", net.opaque("similarity", {seen, read}, {1, 1, 1}, {1}, joint));
  return net.finish();
}

Graph read_whisper(const JsonNode& node) {
  const ConfigReader c(node, "WhisperConfig");
  const int width = c.whole("d_model", 384), bins = c.whole("num_mel_bins", 80);
  const int layers = c.whole("encoder_layers", 4), decoder_layers = c.whole("decoder_layers", 4);
  AttentionPart part;
  part.heads = c.whole("encoder_attention_heads", 6);
  part.head_dim = families::share(c, "d_model", width, part.heads);
  part.k_bias = false;
  c.must_be("decoder_attention_heads", part.heads, "a decoder with other heads than the encoder's is not known");
  const int inner = c.whole("encoder_ffn_dim", 1536), decoder_inner = c.whole("decoder_ffn_dim", 1536);
  const int sounds = c.whole("max_source_positions", 1500), length = c.whole("max_target_positions", 448);
  const int vocabulary = c.whole("vocab_size", 51865);
  GraphBuilder net("whisper",
                   "Whisper, " + std::to_string(layers) + " + " + std::to_string(decoder_layers) + " layers of " +
                       std::to_string(width),
                   {bins, 2 * sounds, 1});
  TokenBlocks blocks(net);
  Window window;
  window.kernel_h = 3;
  window.pad_top = window.pad_bottom = 1;
  int heard = net.activation("sound/1/active", LayerKind::gelu, net.conv("sound/1", 0, width, window, true));
  window.stride_h = 2;
  heard = net.activation("sound/2/active", LayerKind::gelu, net.conv("sound/2", heard, width, window, true));
  heard = net.positions("sound/positions", heard, sounds);
  for (int layer = 1; layer <= layers; ++layer)
    heard = blocks.pre_norm_block("e" + std::to_string(layer), heard, part, inner, LayerKind::gelu);
  heard = blocks.layer_norm("sound/norm", heard);
  const int table = net.embedding("words", blocks.add_input("tokens", length, 1), vocabulary, width);
  int at = net.positions("positions", table, length);
  AttentionPart own = part;
  own.causal = true;
  for (int layer = 1; layer <= decoder_layers; ++layer) {
    const std::string n = "d" + std::to_string(layer);
    const int normed = blocks.layer_norm(n + "/norm1", at);
    at = net.add(n + "/add1", {at, blocks.attention(n, normed, normed, own)});
    at = net.add(n + "/add2", {at, blocks.attention(n + "/cross", blocks.layer_norm(n + "/norm2", at), heard, part)});
    at = net.add(n + "/add3",
                 {at, blocks.network(n, blocks.layer_norm(n + "/norm3", at), decoder_inner, LayerKind::gelu)});
  }
  net.softmax("loss", net.tied_linear("output", blocks.layer_norm("norm", at), table));
  return net.finish();
}

}  // namespace lockstep::model
