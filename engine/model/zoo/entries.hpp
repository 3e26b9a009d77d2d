#pragma once
// Internals of the zoo: its entries by file, in the order of --list-models.
#include <functional>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model::zoo {

/// Whether attention writes its scores to memory or keeps them on the chip (Dao et al. 2022).
enum class Attention { in_passes, fused };

struct Entry {
  std::string name;
  std::function<Graph()> build;
  /// The arithmetic that no backend implements, so that the network is predicted but not trained; empty: it can be
  /// trained.
  std::string lacks{};
  /// A transformer with fused attention; empty for other networks.
  std::function<Graph()> build_fused{};
  /// Builds a language model for any sequence length; empty for other networks.
  std::function<Graph(const SequenceJob&)> of_sequence{};
};

/// LeNets, CIFAR-10 quick, ResNet-32.
std::vector<Entry> small_networks();
/// Lists the AlexNets and VGGs that the papers in scenarios/published train.
std::vector<Entry> alexnets_and_vggs();
std::vector<Entry> googlenets();
std::vector<Entry> inceptions();
/// ResNet-50, 101 and 152.
std::vector<Entry> resnets();
/// Includes ResNet-18 and 34, ResNeXt-50, VGG-11 and 13, AlexNets, SqueezeNet, MobileNets, DenseNets, NiN,
/// Inception-v4.
std::vector<Entry> convolutional_networks();
/// Includes ResNets of other depths on ImageNet and CIFAR, wide ResNets, and Inception-ResNet.
std::vector<Entry> residual_networks();
/// Includes ResNeXt-101, wide ResNets, squeeze-and-excitation networks, EfficientNet.
std::vector<Entry> gated_networks();
/// SSD300 and U-Net.
std::vector<Entry> dense_networks();
/// RetinaNet, 3D U-Net, CosmoFlow, DeepCAM.
std::vector<Entry> mlperf_networks();
/// GNMT.
std::vector<Entry> recurrent_networks();
/// BERT, GPT and ViT.
std::vector<Entry> transformers();
std::vector<Entry> translators();
/// A language model for any sequence length, with fused attention.
Entry language_entry(const TransformerSpec& spec);
/// Llama, Mistral, Mixtral, DeepSeek, Qwen.
std::vector<Entry> language_models();
/// Includes Phi, Gemma 3, OLMo, GLM-4, SmolLM, StarCoder 2 and others, read from their HuggingFace configurations.
std::vector<Entry> configured_language_models();
/// Includes CLIP, Whisper, Flux, Wan and Stable Diffusion, read from their configurations.
std::vector<Entry> composite_networks();

}  // namespace lockstep::model::zoo
