#pragma once
// Inside sim/models: the files that network() looks in.
#include <functional>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/models/models.hpp"

namespace lockstep::sim {

struct FurtherModel {
  const char* name;
  std::function<model::Graph()> build;
};

struct TransformerModel {
  std::string name;
  std::function<model::Graph(Attention)> build;
};

/// ResNet-18 and 34, ResNeXt-50, VGG-11 and 13, AlexNets, SqueezeNet, MobileNets, DenseNets, NiN, Inception-v4.
const std::vector<FurtherModel>& convolutional_models();
/// ResNets of other depths, on ImageNet and on CIFAR, wide ones, and Inception-ResNet.
const std::vector<FurtherModel>& residual_models();
/// ResNeXt-101, wide ResNets, squeeze and excitation, EfficientNet.
std::vector<FurtherModel> gated_models();
/// SSD300 and U-Net.
std::vector<FurtherModel> dense_models();
/// GNMT.
std::vector<FurtherModel> recurrent_models();
/// BERT, GPT, ViT and translators.
std::vector<TransformerModel> transformer_models();

}  // namespace lockstep::sim
