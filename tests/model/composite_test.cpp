// Networks that are no single stack of layers: compares their parameters with those of their checkpoints.
#include "engine/model/transformer/composite.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

std::string problem_of(const std::string& text, int tokens = 0) {
  try {
    model_from_json(JsonDocument::parse(text, "config.json").root(), tokens);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// Totals are those of the checkpoints on huggingface.co: openai, black-forest-labs, Wan-AI, stable-diffusion-v1-5,
// stabilityai.
TEST_CASE("towers and diffusion have the parameters of their checkpoints") {
  CHECK(zoo_graph("clip_vit_b32").parameter_count() == 151'277'313);
  CHECK(zoo_graph("clip_vit_l14").parameter_count() == 427'616'513);
  CHECK(zoo_graph("whisper_small").parameter_count() == 241'734'912);
  CHECK(zoo_graph("whisper_large_v3").parameter_count() == 1'543'490'560);
  CHECK(zoo_graph("flux1_dev").parameter_count() == 11'901'408'320);
  CHECK(zoo_graph("wan2_1_1_3b").parameter_count() == 1'418'996'800);
  CHECK(zoo_graph("stable_diffusion_1_5").parameter_count() == 859'520'964);
  CHECK(zoo_graph("stable_diffusion_2_1").parameter_count() == 865'910'724);
  CHECK(zoo_graph("stable_diffusion_2_base").parameter_count() == 865'910'724);
  CHECK(zoo_graph("stable_diffusion_2_base").macs() < zoo_graph("stable_diffusion_2_1").macs() / 2);
  CHECK(zoo_graph("sdxl").parameter_count() == 2'567'463'684);
}

// 6 N D without tables and convolutions: 303 million weights of ViT-L/14 process 257 patches, 85 million 77 words.
TEST_CASE("multiply-adds of both towers of CLIP") {
  const double macs = static_cast<double>(zoo_graph("clip_vit_l14").macs());
  CHECK(macs == Approx(303.e6 * 257 + 85.e6 * 77).epsilon(0.05));
}

TEST_CASE("a configuration of diffusers that is not known is refused with those that are") {
  CHECK_THAT(problem_of(R"({"_class_name": "AutoencoderKL"})"), Contains("AutoencoderKL"));
  CHECK_THAT(problem_of(R"({"_class_name": "AutoencoderKL"})"), Contains("FluxTransformer2DModel"));
  CHECK_THAT(problem_of(R"({"_class_name": "UNet2DConditionModel", "down_block_types": ["AttnDownBlock2D"]})"),
             Contains("one for each of block_out_channels"));
  CHECK_THAT(problem_of(R"({"_class_name": "UNet2DConditionModel", "sample_size": 63})"), Contains("multiples of 8"));
  CHECK_THAT(problem_of(R"({"_class_name": "WanTransformer3DModel", "patch_size": [1, 1, 1]})"),
             Contains("patch_size"));
  CHECK_THAT(problem_of(R"({"_class_name": "WanTransformer3DModel", "image_dim": 1280})"), Contains("image_dim"));
  CHECK_THAT(problem_of(R"({"_class_name": "UNet2DConditionModel", "num_class_embeds": 1000})"), Contains("U-Net"));
  CHECK_THAT(problem_of(R"({"model_type": "clip", "vision_config": "large"})"), Contains("vision_config"));
  CHECK_THAT(problem_of(R"({"model_type": "clip"})", 100), Contains("have one size"));
}

TEST_CASE("a configuration takes the place of a name") {
  const std::string flux = R"({"_class_name": "FluxTransformer2DModel", "guidance_embeds": true})";
  CHECK(model_from_json(JsonDocument::parse(flux, "config.json").root(), 0).macs() == zoo_graph("flux1_dev").macs());
}

}  // namespace lockstep::model
