#pragma once
// Reads configurations of networks with more than one stack of layers: CLIP, Whisper, diffusion. Keys have the meaning
// that transformers and diffusers give them. Each replica is one GPU (no model parallelism). All parameters count as
// trained.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {

/// The values of "model_type", and of diffusers' "_class_name", that read_composite() accepts.
std::vector<std::string> composite_types();
bool is_composite(const JsonNode& node);

/// clip: samples are pairs of an image and a text, with the sizes in its configuration. The loss compares their
/// vectors. Check: openai's clip-vit-base-patch32 has 151,277,313 parameters.
Graph read_clip(const JsonNode& node);
/// whisper: a sample is 30 seconds of sound and `max_target_positions` tokens. Check: openai's whisper-small has
/// 241,734,912 parameters. 1,152,000 of them are the encoder's positions, which OpenAI does not train; they count as
/// trained here.
Graph read_whisper(const JsonNode& node);
/// FluxTransformer2DModel: a sample is an image of 1,024 x 1,024 pixels, 4,096 tokens, and 512 tokens of text.
Graph read_flux(const JsonNode& node);
/// WanTransformer3DModel (text to video): a sample is 81 frames of 832 x 480 pixels, 32,760 tokens; 512 tokens of text.
Graph read_wan(const JsonNode& node);
/// UNet2DConditionModel of Stable Diffusion 1, 2 and XL: a sample is a latent image of `sample_size` x `sample_size`.
Graph read_unet(const JsonNode& node);

/// Throws InputError for a value that it does not support, or if `tokens` is above 0, because samples have a fixed
/// size.
Graph read_composite(const JsonNode& node, int tokens);

}  // namespace lockstep::model
