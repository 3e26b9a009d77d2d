#pragma once
// Configurations of networks with more than one stack of layers: CLIP, Whisper, diffusion. They are read as transformers and
// diffusers read them. Each replica is one GPU (no model parallelism). All parameters count as trained.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {

/// Values of "model_type" and of diffusers' "_class_name" that read_composite() takes.
std::vector<std::string> composite_types();
bool is_composite(const JsonNode& node);

/// clip: images and texts as its configuration has them, and a product of both vectors as the loss. Totals: openai's
/// clip-vit-base-patch32 has 151,277,313 parameters.
Graph read_clip(const JsonNode& node);
/// whisper: a sample is 30 seconds of sound and `max_target_positions` tokens. Total: openai's whisper-small has 241,734,912
/// parameters. 1,152,000 of them are the encoder's positions, which OpenAI does not train; they count as trained here.
Graph read_whisper(const JsonNode& node);
/// FluxTransformer2DModel: a sample is an image of 1,024 x 1,024 pixels, 4,096 tokens, and 512 tokens of text.
Graph read_flux(const JsonNode& node);
/// WanTransformer3DModel, from text to video: a sample is 81 frames of 832 x 480 pixels, 32,760 tokens, and 512 tokens of text.
Graph read_wan(const JsonNode& node);
/// UNet2DConditionModel, of Stable Diffusion 1, 2 and XL: latents of `sample_size` squared.
Graph read_unet(const JsonNode& node);

/// Throws InputError for a value that is not understood, or `tokens` above 0: the samples have one size.
Graph read_composite(const JsonNode& node, int tokens);

}  // namespace lockstep::model
