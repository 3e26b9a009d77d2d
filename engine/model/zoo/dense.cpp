// Networks that predict for every position of an image: SSD300 (Liu et al. 2016) with the ResNet backbones of MLPerf's
// reference, and U-Net (Ronneberger et al. 2015).
#include <array>
#include <string>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"
#include "engine/model/zoo/token_graph.hpp"

namespace lockstep::model::zoo {
namespace {

constexpr int kCocoClasses = 81;

// Uses ResNet's first three stages, the third without its stride: 38x38 positions for a 300x300 image.
int backbone(GraphBuilder& net, std::array<int, 3> blocks, bool has_bottlenecks) {
  int at = net.max_pool("pool1", conv_bn_relu(net, "conv1", 0, 64, square(7, 2, 3)), square(3, 2, 1));
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string block = "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1);
      const int width = 64 << stage, channels = has_bottlenecks ? 4 * width : width;
      const int stride = i == 0 && stage == 1 ? 2 : 1;
      int out = at;
      if (has_bottlenecks) out = conv_bn_relu(net, block + "/1x1a", out, width, square(1));
      out = conv_bn_relu(net, block + "/3x3", out, width, square(3, stride, 1));
      out = has_bottlenecks ? conv_bn(net, block + "/1x1b", out, channels, square(1))
                            : conv_bn(net, block + "/3x3b", out, width, square(3, 1, 1));
      const bool same = stride == 1 && net.shape(at).channels == channels;
      const int shortcut = same ? at : conv_bn(net, block + "/shortcut", at, channels, square(1, stride));
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return at;
}

// Predicts on maps of 38x38, 19x19, 10x10, 5x5, 3x3 and 1x1 positions, each with 4 or 6 boxes (4 numbers, a class).
Graph ssd(const std::string& name, const std::string& title, std::array<int, 3> blocks, bool has_bottlenecks) {
  GraphBuilder net(name, title, {3, 300, 300});
  struct Extra {
    int middle, channels, stride, pad;
  };
  constexpr std::array<Extra, 5> extras{
      {{256, 512, 2, 1}, {256, 512, 2, 1}, {128, 256, 2, 1}, {128, 256, 1, 0}, {128, 256, 1, 0}}};
  constexpr std::array<int, 6> boxes{4, 6, 6, 6, 4, 4};
  int at = backbone(net, blocks, has_bottlenecks);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::string n = "map" + std::to_string(i + 1);
    if (i > 0) {
      const Extra& e = extras[i - 1];
      at = conv_bn_relu(net, n + "/a", at, e.middle, square(1));
      at = conv_bn_relu(net, n + "/b", at, e.channels, square(3, e.stride, e.pad));
    }
    net.softmax(n + "/loss", net.conv(n + "/boxes", at, boxes[i] * (4 + kCocoClasses), square(3, 1, 1), true));
  }
  return net.finish();
}

// Input: 572x572 pixels, one channel. The 3x3 convolutions have no padding. A transposed 2x2 convolution costs the same
// as a matrix to 4 * out channels. Skip connections are cropped to the size of the upward path.
class UNet {
 public:
  Graph build() {
    constexpr std::array<int, 5> channels{64, 128, 256, 512, 1024};
    std::array<int, 5> across{};
    int at = 0, in = 1;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (i > 0) at = net_.each("pool" + std::to_string(i), LayerKind::max_pool, {at}, places(size_ /= 2) * in);
      at = across[i] = pair("down" + std::to_string(i + 1), at, in, channels[i]);
      in = channels[i];
    }
    for (std::size_t i = channels.size() - 1; i-- > 0;) {
      const std::string n = "up" + std::to_string(i + 1);
      const int out = channels[i];
      const int up = net_.linear(n, at, size_ * size_, in, 4 * out);
      size_ *= 2;
      const int both = net_.each(n + "/concat", LayerKind::concat, {across[i], up}, places(size_) * 2 * out);
      at = pair(n, both, 2 * out, out);
      in = out;
    }
    at = net_.linear("classes", at, size_ * size_, in, kClasses);
    net_.each("loss", LayerKind::softmax, {at}, places(size_) * kClasses);
    return net_.finish();
  }

 private:
  static constexpr int kClasses = 2;

  static std::int64_t places(int size) { return std::int64_t{size} * size; }
  int pair(const std::string& n, int from, int in, int out) {
    return convolved(n + "/b", convolved(n + "/a", from, in, out), out, out);
  }
  int convolved(const std::string& n, int from, int in, int out) {
    size_ -= 2;
    const int conv = net_.convolution(n, from, {in, size_ + 2, size_ + 2}, {out, size_, size_}, 3);
    return net_.each(n + "/relu", LayerKind::relu, {conv}, places(size_) * out);
  }

  TokenGraph net_{"unet", "U-Net (572x572)", 572 * 572, 1};
  int size_ = 572;
};

}  // namespace

std::vector<Entry> dense_networks() {
  const std::string boxes = "a loss over boxes";
  return {{"ssd300_resnet34",
           [] {
             return ssd("ssd300_resnet34", "SSD300, ResNet-34 (300x300)", {3, 4, 6}, false);
           },
           boxes},
          {"ssd300_resnet50",
           [] {
             return ssd("ssd300_resnet50", "SSD300, ResNet-50 (300x300)", {3, 4, 6}, true);
           },
           boxes},
          {"unet", [] { return UNet().build(); }, "transposed convolutions and a loss over pixels"}};
}

}  // namespace lockstep::model::zoo
