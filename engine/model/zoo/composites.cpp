// Networks of images, sound and text that are no single stack of layers, by their configurations on huggingface.co.
#include "engine/model/transformer/composite.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

struct Composed {
  const char* name;
  const char* title;
  const char* config;
};

const std::vector<Composed>& all_composed() {
  static const std::vector<Composed> all{
      {"clip_vit_b32", "CLIP ViT-B/32", R"({"model_type": "clip"})"},
      {"clip_vit_l14", "CLIP ViT-L/14", R"({"model_type": "clip", "projection_dim": 768,
          "text_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12},
          "vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
          "patch_size": 14}})"},
      {"clip_vit_l14_336", "CLIP ViT-L/14 at 336 pixels", R"({"model_type": "clip", "projection_dim": 768,
          "text_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12},
          "vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
          "patch_size": 14, "image_size": 336}})"},
      // NVIDIA NeMo's page on CLIP gives towers of 1,408 x 40 and 1,024 x 24.
      {"clip_vit_g14", "CLIP ViT-g/14", R"({"model_type": "clip", "projection_dim": 1024,
          "text_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24},
          "vision_config": {"hidden_size": 1408, "intermediate_size": 6144, "num_attention_heads": 16, "num_hidden_layers": 40,
          "patch_size": 14}})"},
      {"whisper_small", "Whisper small",
       R"({"model_type": "whisper", "d_model": 768, "encoder_layers": 12, "decoder_layers": 12,
          "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072})"},
      {"whisper_large_v3", "Whisper large v3", R"({"model_type": "whisper", "d_model": 1280, "encoder_layers": 32,
          "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
          "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866})"},
      {"flux1_dev", "FLUX.1 dev", R"({"_class_name": "FluxTransformer2DModel", "guidance_embeds": true})"},
      {"wan2_1_14b", "Wan 2.1 14B", R"({"_class_name": "WanTransformer3DModel"})"},
      {"wan2_1_1_3b", "Wan 2.1 1.3B",
       R"({"_class_name": "WanTransformer3DModel", "num_attention_heads": 12, "ffn_dim": 8960, "num_layers": 30})"},
      {"stable_diffusion_1_5", "Stable Diffusion 1.5, U-Net",
       R"({"_class_name": "UNet2DConditionModel", "cross_attention_dim": 768})"},
      // MLPerf trains this one, on images of 512x512 pixels.
      {"stable_diffusion_2_base", "Stable Diffusion 2 base, U-Net", R"({"_class_name": "UNet2DConditionModel",
          "cross_attention_dim": 1024, "attention_head_dim": [5, 10, 20, 20], "use_linear_projection": true,
          "sample_size": 64})"},
      {"stable_diffusion_2_1", "Stable Diffusion 2.1, U-Net", R"({"_class_name": "UNet2DConditionModel",
          "cross_attention_dim": 1024, "attention_head_dim": [5, 10, 20, 20], "use_linear_projection": true,
          "sample_size": 96})"},
      {"sdxl", "Stable Diffusion XL, U-Net", R"({"_class_name": "UNet2DConditionModel", "cross_attention_dim": 2048,
          "block_out_channels": [320, 640, 1280], "attention_head_dim": [5, 10, 20], "transformer_layers_per_block": [1, 2, 10],
          "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"], "use_linear_projection": true,
          "addition_embed_type": "text_time", "projection_class_embeddings_input_dim": 2816, "sample_size": 128})"}};
  return all;
}

Graph composed_graph(const Composed& model) {
  Graph graph = read_composite(JsonDocument::parse(model.config, model.name).root(), 0);
  graph.name = model.name;
  graph.title = model.title;
  return graph;
}

}  // namespace

std::vector<Entry> composite_networks() {
  std::vector<Entry> all;
  for (const Composed& model : all_composed())
    all.push_back({model.name, [&model] { return composed_graph(model); }, "layers of sequences"});
  return all;
}

}  // namespace lockstep::model::zoo
