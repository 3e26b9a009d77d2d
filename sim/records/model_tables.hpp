#pragma once
// Inside sim/records: the files that record_model() looks in.
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::sim {

struct FurtherModel {
  const char* name;
  model::Graph (*build)();
};

/// ResNets of other depths, on ImageNet and on CIFAR, wide ones, and Inception-ResNet.
const std::vector<FurtherModel>& residual_models();
/// BERT, GPT and ViT.
const std::vector<FurtherModel>& transformer_models();

}  // namespace lockstep::sim
