// Defines further residual networks: ResNet-200 and those for CIFAR (He et al. 2016), wide ones (Zagoruyko & Komodakis
// 2016), Inception-ResNet-v2 (Szegedy et al. 2017).
#include <array>
#include <string>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

// Stages of 3, 24, 36 and 3 bottleneck blocks.
Graph resnet200() {
  GraphBuilder net("resnet200", "ResNet-200 (224x224)", {3, 224, 224});
  constexpr std::array<int, 4> blocks{3, 24, 36, 3};
  int at = net.max_pool("pool1", conv_bn_relu(net, "conv1", 0, 64, square(7, 2, 3)), square(3, 2, 1));
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string block = "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1);
      const int width = 64 << stage, stride = i == 0 && stage > 0 ? 2 : 1;
      int out = conv_bn_relu(net, block + "/1x1a", at, width, square(1));
      out = conv_bn_relu(net, block + "/3x3", out, width, square(3, stride, 1));
      out = conv_bn(net, block + "/1x1b", out, 4 * width, square(1));
      const int shortcut = i == 0 ? conv_bn(net, block + "/shortcut", at, 4 * width, square(1, stride)) : at;
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return classified(net, at, 1000);
}

// 6n + 2 layers for 32x32 images: three stages of n blocks with two convolutions each. Stages have 16, 32 and 64
// channels, times `width`. If `width` is 1, shortcuts between stages have no parameters.
Graph cifar_resnet(const std::string& name, const std::string& title, int n, int width) {
  GraphBuilder net(name, title, {3, 32, 32});
  int at = conv_bn_relu(net, "conv1", 0, 16, square(3, 1, 1));
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < n; ++i) {
      const std::string block = "s" + std::to_string(stage + 1) + "b" + std::to_string(i + 1);
      const int channels = (16 << stage) * width, stride = i == 0 && stage > 0 ? 2 : 1;
      int out = conv_bn_relu(net, block + "/a", at, channels, square(3, stride, 1));
      out = conv_bn(net, block + "/b", out, channels, square(3, 1, 1));
      int shortcut = at;
      if (net.shape(at).channels != channels)
        shortcut = width > 1 ? net.conv(block + "/shortcut", at, channels, square(1, stride), false)
                             : net.subsample(block + "/shortcut", at, channels, stride);
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return classified(net, at, 10);
}

// Layers follow the paper's figures, widths follow TensorFlow's slim.
class InceptionResnet {
 public:
  Graph build() {
    int at = mixed_5b(stem());
    for (int i = 1; i <= 10; ++i) at = block35("a" + std::to_string(i), at);
    at = reduction_a(at);
    for (int i = 1; i <= 20; ++i) at = block17("b" + std::to_string(i), at);
    at = reduction_b(at);
    for (int i = 1; i <= 10; ++i) at = block8("c" + std::to_string(i), at, i < 10);
    return classified(net_, same("conv7", at, 1536, 1, 1), 1000);
  }

 private:
  int conv(const std::string& name, int from, int out, Window window) {
    return conv_bn_relu(net_, name, from, out, window);
  }
  int same(const std::string& name, int from, int out, int height, int width) {
    return conv(name, from, out, keep_size(height, width));
  }
  int stem() {
    int at = conv("1a", 0, 32, square(3, 2));
    at = same("2b", conv("2a", at, 32, square(3)), 64, 3, 3);
    at = same("3b", net_.max_pool("pool3", at, square(3, 2)), 80, 1, 1);
    return net_.max_pool("pool5", conv("4a", at, 192, square(3)), square(3, 2));
  }
  int mixed_5b(int from) {
    const int second = same("5b/2b", same("5b/2a", from, 48, 1, 1), 64, 5, 5);
    const int third = same("5b/3c", same("5b/3b", same("5b/3a", from, 64, 1, 1), 96, 3, 3), 96, 3, 3);
    const int pooled = net_.avg_pool("5b/pool", from, square(3, 1, 1));
    return net_.concat("5b", {same("5b/1", from, 96, 1, 1), second, third, same("5b/4", pooled, 64, 1, 1)});
  }
  // Adds the branches, after a 1x1 convolution back to the input's width (with bias, without batch norm), to the input.
  int residual(const std::string& n, int from, const std::vector<int>& branches, bool with_relu) {
    const int up =
        net_.conv(n + "/up", net_.concat(n + "/concat", branches), net_.shape(from).channels, square(1), true);
    const int sum = net_.add(n + "/add", {from, up});
    return with_relu ? net_.relu(n + "/relu", sum) : sum;
  }
  int block35(const std::string& n, int from) {
    const int second = same(n + "/2b", same(n + "/2a", from, 32, 1, 1), 32, 3, 3);
    const int third = same(n + "/3c", same(n + "/3b", same(n + "/3a", from, 32, 1, 1), 48, 3, 3), 64, 3, 3);
    return residual(n, from, {same(n + "/1", from, 32, 1, 1), second, third}, true);
  }
  int reduction_a(int from) {
    const int second = conv("ra/2c", same("ra/2b", same("ra/2a", from, 256, 1, 1), 256, 3, 3), 384, square(3, 2));
    return net_.concat("ra",
                       {conv("ra/1", from, 384, square(3, 2)), second, net_.max_pool("ra/pool", from, square(3, 2))});
  }
  int block17(const std::string& n, int from) {
    const int second = same(n + "/2c", same(n + "/2b", same(n + "/2a", from, 128, 1, 1), 160, 1, 7), 192, 7, 1);
    return residual(n, from, {same(n + "/1", from, 192, 1, 1), second}, true);
  }
  int reduction_b(int from) {
    const int first = conv("rb/1b", same("rb/1a", from, 256, 1, 1), 384, square(3, 2));
    const int second = conv("rb/2b", same("rb/2a", from, 256, 1, 1), 288, square(3, 2));
    const int third = conv("rb/3c", same("rb/3b", same("rb/3a", from, 256, 1, 1), 288, 3, 3), 320, square(3, 2));
    return net_.concat("rb", {first, second, third, net_.max_pool("rb/pool", from, square(3, 2))});
  }
  int block8(const std::string& n, int from, bool with_relu) {
    const int second = same(n + "/2c", same(n + "/2b", same(n + "/2a", from, 192, 1, 1), 224, 1, 3), 256, 3, 1);
    return residual(n, from, {same(n + "/1", from, 192, 1, 1), second}, with_relu);
  }

  GraphBuilder net_{"inception_resnet_v2", "Inception-ResNet-v2 (299x299)", {3, 299, 299}};
};

}  // namespace

std::vector<Entry> residual_networks() {
  const auto cifar = [](const char* name, const char* title, int n, int width) {
    return Entry{name, [=] { return cifar_resnet(name, title, n, width); }};
  };
  return {
      {"resnet200", resnet200},
      cifar("resnet20_cifar", "ResNet-20 (CIFAR-10)", 3, 1),
      cifar("resnet44_cifar", "ResNet-44 (CIFAR-10)", 7, 1),
      cifar("resnet56_cifar", "ResNet-56 (CIFAR-10)", 9, 1),
      cifar("resnet110_cifar", "ResNet-110 (CIFAR-10)", 18, 1),
      cifar("wide_resnet_28_10", "Wide ResNet-28-10 (CIFAR-10)", 4, 10),
      {"inception_resnet_v2", [] { return InceptionResnet().build(); }, "residuals that are scaled down"},
  };
}

}  // namespace lockstep::model::zoo
