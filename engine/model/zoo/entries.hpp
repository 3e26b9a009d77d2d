#pragma once
// Inside the zoo: its entries, file by file, in the order of --list-models.
#include <functional>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model::zoo {

/// Whether the scores of attention pass through memory or are kept on the chip (Dao et al. 2022).
enum class Attention { in_passes, fused };

struct Entry {
  std::string name;
  std::function<Graph()> build;
  /// What of its arithmetic no backend has, so that it is predicted and not trained; empty: it is trained.
  std::string lacks{};
  /// A transformer with fused attention; empty for other networks.
  std::function<Graph()> build_fused{};
  /// A language model at any length of sequence; empty for other networks.
  std::function<Graph(const SequenceJob&)> of_sequence{};
};

/// LeNets, CIFAR-10 quick, ResNet-32.
std::vector<Entry> small_networks();
/// AlexNets and VGGs of the seed papers.
std::vector<Entry> alexnets_and_vggs();
std::vector<Entry> googlenets();
std::vector<Entry> inceptions();
/// ResNet-50, 101 and 152.
std::vector<Entry> resnets();
/// ResNet-18 and 34, ResNeXt-50, VGG-11 and 13, AlexNets, SqueezeNet, MobileNets, DenseNets, NiN, Inception-v4.
std::vector<Entry> convolutional_networks();
/// ResNets of other depths, on ImageNet and on CIFAR, wide ones, and Inception-ResNet.
std::vector<Entry> residual_networks();
/// ResNeXt-101, wide ResNets, squeeze and excitation, EfficientNet.
std::vector<Entry> gated_networks();
/// SSD300 and U-Net.
std::vector<Entry> dense_networks();
/// GNMT.
std::vector<Entry> recurrent_networks();
/// BERT, GPT and ViT.
std::vector<Entry> transformers();
std::vector<Entry> translators();
/// A language model at any length of sequence, with fused attention.
Entry language_entry(const TransformerSpec& spec);
/// Llama, Mistral, Mixtral, DeepSeek, Qwen.
std::vector<Entry> language_models();
/// Phi, Gemma 3, OLMo, GLM-4, SmolLM, StarCoder 2 and others, by their HuggingFace configurations.
std::vector<Entry> configured_language_models();
/// CLIP, Whisper, Flux, Wan, Stable Diffusion, by their configurations.
std::vector<Entry> composite_networks();

}  // namespace lockstep::model::zoo
