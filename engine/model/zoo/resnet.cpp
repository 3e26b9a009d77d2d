// Defines ResNet-50/101/152 (He, Zhang, Ren & Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, Table 1).
#include <array>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

/// Where a stage's first block halves the image: v1 (the paper) in its first 1x1 convolution, v1.5 in the 3x3.
enum class Downsampling { in_1x1, in_3x3 };

struct Block {
  int width;   ///< channels inside; the output has four times as many
  int stride;  ///< 2 in the first block of stages 3 to 5
  bool projection;
};

int bottleneck(GraphBuilder& net, const std::string& name, int from, Block block, Downsampling downsampling) {
  const bool early = downsampling == Downsampling::in_1x1;
  int at = conv_bn_relu(net, name + "/1x1a", from, block.width, square(1, early ? block.stride : 1));
  at = conv_bn_relu(net, name + "/3x3", at, block.width, square(3, early ? 1 : block.stride, 1));
  at = conv_bn(net, name + "/1x1b", at, 4 * block.width, square(1));
  int shortcut = from;
  if (block.projection) shortcut = conv_bn(net, name + "/shortcut", from, 4 * block.width, square(1, block.stride));
  return net.relu(name + "/relu", net.add(name + "/add", {at, shortcut}));
}

Graph resnet(const std::string& name, const std::string& title, std::array<int, 4> blocks, Downsampling downsampling) {
  GraphBuilder net(name, title, {3, 224, 224});
  int at = conv_bn_relu(net, "conv1", 0, 64, square(7, 2, 3));
  at = net.max_pool("pool1", at, square(3, 2, 1));
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const Block block{64 << stage, i == 0 && stage > 0 ? 2 : 1, i == 0};
      at = bottleneck(net, "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1), at, block, downsampling);
    }
  }
  return classified(net, at, 1000);
}

Entry entry(const char* name, const char* title, std::array<int, 4> blocks, Downsampling downsampling) {
  return {name, [=] { return resnet(name, title, blocks, downsampling); }};
}

}  // namespace

std::vector<Entry> resnets() {
  return {
      entry("resnet50", "ResNet-50 v1 (stride in first 1x1) (224x224)", {3, 4, 6, 3}, Downsampling::in_1x1),
      entry("resnet50_v15", "ResNet-50 v1.5 (stride in 3x3) (224x224)", {3, 4, 6, 3}, Downsampling::in_3x3),
      entry("resnet101", "ResNet-101 v1 (stride in first 1x1) (224x224)", {3, 4, 23, 3}, Downsampling::in_1x1),
      entry("resnet152", "ResNet-152 v1 (stride in first 1x1) (224x224)", {3, 8, 36, 3}, Downsampling::in_1x1),
  };
}

}  // namespace lockstep::model::zoo
