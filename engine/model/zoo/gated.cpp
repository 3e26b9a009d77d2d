// Networks with grouped convolutions or gates of channels: ResNeXt-101 (Xie et al. 2017), wide ResNets (Zagoruyko &
// Komodakis 2016), SE-ResNeXt (Hu et al. 2018), EfficientNet (Tan & Le 2019).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

// Squeeze and excitation: two layers turn channel means into a factor per channel. The sigmoid is a loss head, because
// the graph has no product of arrays of different shapes.
int gated(GraphBuilder& net, const std::string& name, int from, int squeezed) {
  const int channels = net.shape(from).channels;
  int gate = net.conv(name + "/squeeze", net.global_avg_pool(name + "/mean", from), squeezed, square(1), true);
  gate = net.conv(name + "/excite", net.relu(name + "/relu", gate), channels, square(1), true);
  net.softmax(name + "/sigmoid", gate);
  return net.dropout(name + "/scale", from);
}

struct Bottlenecks {
  const char* name;
  const char* title;
  std::array<int, 4> blocks;
  int width;        // channels of the 3x3 convolutions of the first stage
  int groups;       // groups of these convolutions
  int squeeze = 0;  // a gate has channels / squeeze inner channels; 0: no gates
};

Graph bottleneck_resnet(const Bottlenecks& b) {
  GraphBuilder net(b.name, b.title, {3, 224, 224});
  int at = net.max_pool("pool1", conv_bn_relu(net, "conv1", 0, 64, square(7, 2, 3)), square(3, 2, 1));
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < b.blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string block = "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1);
      const int width = b.width << stage, channels = 256 << stage, stride = i == 0 && stage > 0 ? 2 : 1;
      Window grouped = square(3, stride, 1);
      grouped.groups = b.groups;
      int out = conv_bn_relu(net, block + "/1x1a", at, width, square(1));
      out = conv_bn_relu(net, block + "/3x3", out, width, grouped);
      out = conv_bn(net, block + "/1x1b", out, channels, square(1));
      if (b.squeeze > 0) out = gated(net, block + "/se", out, channels / b.squeeze);
      const int shortcut = i == 0 ? conv_bn(net, block + "/shortcut", at, channels, square(1, stride)) : at;
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return classified(net, at, 1000);
}

const std::vector<Bottlenecks>& bottlenecks() {
  static const std::vector<Bottlenecks> all{
      {"resnext101", "ResNeXt-101 32x4d (224x224)", {3, 4, 23, 3}, 128, 32},
      {"resnext101_32x8d", "ResNeXt-101 32x8d (224x224)", {3, 4, 23, 3}, 256, 32},
      {"resnext101_64x4d", "ResNeXt-101 64x4d (224x224)", {3, 4, 23, 3}, 256, 64},
      {"se_resnext101", "SE-ResNeXt-101 32x4d (224x224)", {3, 4, 23, 3}, 128, 32, 16},
      {"se_resnext50", "SE-ResNeXt-50 32x4d (224x224)", {3, 4, 6, 3}, 128, 32, 16},
      {"se_resnet50", "SE-ResNet-50 (224x224)", {3, 4, 6, 3}, 64, 1, 16},
      {"wide_resnet50", "Wide ResNet-50-2 (224x224)", {3, 4, 6, 3}, 128, 1},
      {"wide_resnet101", "Wide ResNet-101-2 (224x224)", {3, 4, 23, 3}, 128, 1},
  };
  return all;
}

int depthwise(GraphBuilder& net, const std::string& name, int from, int kernel, int stride) {
  Window window = square(kernel, stride, kernel / 2);
  window.groups = net.shape(from).channels;
  return conv_bn_relu(net, name, from, window.groups, window);
}

// Tan & Le 2019, Table 1. Widths are rounded to multiples of 8, but not below 90 %.
int rounded(double channels) {
  const int near = std::max(8, static_cast<int>(channels + 4) / 8 * 8);
  return near < 0.9 * channels ? near + 8 : near;
}

struct Scaled {
  const char* name;
  const char* title;
  double width, depth;
  int size;
};

Graph efficientnet(const Scaled& s) {
  struct Stage {
    int expansion, channels, repeats, stride, kernel;
  };
  constexpr std::array<Stage, 7> stages{{{1, 16, 1, 1, 3},
                                         {6, 24, 2, 2, 3},
                                         {6, 40, 2, 2, 5},
                                         {6, 80, 3, 2, 3},
                                         {6, 112, 3, 1, 5},
                                         {6, 192, 4, 2, 5},
                                         {6, 320, 1, 1, 3}}};
  GraphBuilder net(s.name, s.title, {3, s.size, s.size});
  int at = conv_bn_relu(net, "stem", 0, rounded(32 * s.width), square(3, 2, 1));
  int number = 0;
  for (const Stage& stage : stages)
    for (int i = 0; i < static_cast<int>(std::ceil(stage.repeats * s.depth)); ++i) {
      const std::string block = "block" + std::to_string(++number);
      const int in = net.shape(at).channels, stride = i == 0 ? stage.stride : 1;
      const int channels = rounded(stage.channels * s.width);
      int out = stage.expansion > 1 ? conv_bn_relu(net, block + "/expand", at, in * stage.expansion, square(1)) : at;
      out = depthwise(net, block + "/dw", out, stage.kernel, stride);
      out = conv_bn(net, block + "/project", gated(net, block + "/se", out, std::max(1, in / 4)), channels, square(1));
      at = stride == 1 && in == channels ? net.add(block + "/add", {net.dropout(block + "/drop", out), at}) : out;
    }
  at = conv_bn_relu(net, "head", at, rounded(1280 * s.width), square(1));
  net.softmax("loss", net.fc("fc", net.dropout("drop", net.global_avg_pool("gap", at)), 1000));
  return net.finish();
}

const std::vector<Scaled>& efficientnets() {
  static const std::vector<Scaled> all{
      {"efficientnet_b0", "EfficientNet-B0 (224x224)", 1.0, 1.0, 224},
      {"efficientnet_b1", "EfficientNet-B1 (240x240)", 1.0, 1.1, 240},
      {"efficientnet_b2", "EfficientNet-B2 (260x260)", 1.1, 1.2, 260},
      {"efficientnet_b3", "EfficientNet-B3 (300x300)", 1.2, 1.4, 300},
      {"efficientnet_b4", "EfficientNet-B4 (380x380)", 1.4, 1.8, 380},
      {"efficientnet_b5", "EfficientNet-B5 (456x456)", 1.6, 2.2, 456},
      {"efficientnet_b6", "EfficientNet-B6 (528x528)", 1.8, 2.6, 528},
      {"efficientnet_b7", "EfficientNet-B7 (600x600)", 2.0, 3.1, 600},
  };
  return all;
}

}  // namespace

std::vector<Entry> gated_networks() {
  std::vector<Entry> all;
  for (const Bottlenecks& b : bottlenecks())
    all.push_back({b.name, [&b] { return bottleneck_resnet(b); }, b.squeeze > 0 ? "squeeze and excitation" : ""});
  for (const Scaled& s : efficientnets())
    all.push_back({s.name, [&s] { return efficientnet(s); }, "squeeze and excitation, Swish"});
  return all;
}

}  // namespace lockstep::model::zoo
