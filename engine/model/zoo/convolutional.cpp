// Defines convolutional networks as their own papers do. No paper in scenarios/published trains them. Images are
// 224x224; for Inceptions 299x299.
#include <array>
#include <string>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

constexpr int kClasses = 1000;

int residual_stem(GraphBuilder& net) {
  return net.max_pool("pool1", conv_bn_relu(net, "conv1", 0, 64, square(7, 2, 3)), square(3, 2, 1));
}

// He et al. 2016, Table 1: each block has two 3x3 convolutions.
Graph basic_resnet(const std::string& name, const std::string& title, std::array<int, 4> blocks) {
  GraphBuilder net(name, title, {3, 224, 224});
  int at = residual_stem(net);
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string block = "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1);
      const int width = 64 << stage, stride = i == 0 && stage > 0 ? 2 : 1;
      int out = conv_bn_relu(net, block + "/a", at, width, square(3, stride, 1));
      out = conv_bn(net, block + "/b", out, width, square(3, 1, 1));
      const int shortcut = stride > 1 ? conv_bn(net, block + "/shortcut", at, width, square(1, stride)) : at;
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return classified(net, at, kClasses);
}

// Xie et al. 2017, 32x4d: inner 3x3 convolutions are grouped and twice as wide as ResNet-50's.
Graph resnext50() {
  GraphBuilder net("resnext50", "ResNeXt-50 32x4d (224x224)", {3, 224, 224});
  constexpr std::array<int, 4> blocks{3, 4, 6, 3};
  int at = residual_stem(net);
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string block = "s" + std::to_string(stage + 2) + "b" + std::to_string(i + 1);
      const int width = 128 << stage, stride = i == 0 && stage > 0 ? 2 : 1;
      Window grouped = square(3, stride, 1);
      grouped.groups = 32;
      int out = conv_bn_relu(net, block + "/1x1a", at, width, square(1));
      out = conv_bn_relu(net, block + "/3x3", out, width, grouped);
      out = conv_bn(net, block + "/1x1b", out, 2 * width, square(1));
      const int shortcut = i == 0 ? conv_bn(net, block + "/shortcut", at, 2 * width, square(1, stride)) : at;
      at = net.relu(block + "/relu", net.add(block + "/add", {out, shortcut}));
    }
  return classified(net, at, kClasses);
}

// Krizhevsky 2014, "one weird trick": has one tower and no local response normalisation.
Graph alexnet_owt() {
  GraphBuilder net("alexnet_owt", "AlexNet, one tower (224x224)", {3, 224, 224});
  int at = net.max_pool("pool1", conv_relu(net, "conv1", 0, 64, square(11, 4, 2)), square(3, 2));
  at = net.max_pool("pool2", conv_relu(net, "conv2", at, 192, square(5, 1, 2)), square(3, 2));
  at = conv_relu(net, "conv3", at, 384, square(3, 1, 1));
  at = conv_relu(net, "conv4", at, 256, square(3, 1, 1));
  at = net.max_pool("pool5", conv_relu(net, "conv5", at, 256, square(3, 1, 1)), square(3, 2));
  at = net.dropout("drop6", net.relu("fc6/relu", net.fc("fc6", at, 4096)));
  at = net.dropout("drop7", net.relu("fc7/relu", net.fc("fc7", at, 4096)));
  net.softmax("loss", net.fc("fc8", at, kClasses));
  return net.finish();
}

// The model "alexnet" of tf_cnn_benchmarks has convolutions of 64, 192, 384, 384 and 256 channels, at 227x227.
Graph alexnet_tf() {
  GraphBuilder net("alexnet_tf", "AlexNet of tf_cnn_benchmarks (227x227)", {3, 227, 227});
  int at = net.max_pool("pool1", conv_relu(net, "conv1", 0, 64, square(11, 4)), square(3, 2));
  at = net.max_pool("pool2", conv_relu(net, "conv2", at, 192, square(5, 1, 2)), square(3, 2));
  at = conv_relu(net, "conv3", at, 384, square(3, 1, 1));
  at = conv_relu(net, "conv4", at, 384, square(3, 1, 1));
  at = net.max_pool("pool5", conv_relu(net, "conv5", at, 256, square(3, 1, 1)), square(3, 2));
  at = net.dropout("drop6", net.relu("fc6/relu", net.fc("fc6", at, 4096)));
  at = net.dropout("drop7", net.relu("fc7/relu", net.fc("fc7", at, 4096)));
  net.softmax("loss", net.fc("fc8", at, kClasses));
  return net.finish();
}

int fire(GraphBuilder& net, const std::string& name, int from, int squeeze, int expand) {
  const int narrow = conv_relu(net, name + "/squeeze", from, squeeze, square(1));
  return net.concat(name + "/concat", {conv_relu(net, name + "/1x1", narrow, expand, square(1)),
                                       conv_relu(net, name + "/3x3", narrow, expand, square(3, 1, 1))});
}

// Iandola et al. 2016, v1.0.
Graph squeezenet() {
  GraphBuilder net("squeezenet", "SqueezeNet 1.0 (224x224)", {3, 224, 224});
  int at = net.max_pool("pool1", conv_relu(net, "conv1", 0, 96, square(7, 2)), square_ceil(3, 2));
  at = fire(net, "fire2", at, 16, 64);
  at = fire(net, "fire3", at, 16, 64);
  at = net.max_pool("pool4", fire(net, "fire4", at, 32, 128), square_ceil(3, 2));
  at = fire(net, "fire5", at, 32, 128);
  at = fire(net, "fire6", at, 48, 192);
  at = fire(net, "fire7", at, 48, 192);
  at = net.max_pool("pool8", fire(net, "fire8", at, 64, 256), square_ceil(3, 2));
  at = conv_relu(net, "conv10", net.dropout("drop9", fire(net, "fire9", at, 64, 256)), kClasses, square(1));
  net.softmax("loss", net.global_avg_pool("gap", at));
  return net.finish();
}

int depthwise(GraphBuilder& net, const std::string& name, int from, int stride) {
  Window window = square(3, stride, 1);
  window.groups = net.shape(from).channels;
  return conv_bn_relu(net, name, from, window.groups, window);
}

// Howard et al. 2017, Table 1.
Graph mobilenet_v1() {
  GraphBuilder net("mobilenet_v1", "MobileNet v1 (224x224)", {3, 224, 224});
  constexpr std::array<std::array<int, 2>, 13> blocks{{{64, 1},
                                                       {128, 2},
                                                       {128, 1},
                                                       {256, 2},
                                                       {256, 1},
                                                       {512, 2},
                                                       {512, 1},
                                                       {512, 1},
                                                       {512, 1},
                                                       {512, 1},
                                                       {512, 1},
                                                       {1024, 2},
                                                       {1024, 1}}};
  int at = conv_bn_relu(net, "conv1", 0, 32, square(3, 2, 1));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = "block" + std::to_string(i + 1);
    at = depthwise(net, name + "/dw", at, blocks[i][1]);
    at = conv_bn_relu(net, name + "/pw", at, blocks[i][0], square(1));
  }
  return classified(net, at, kClasses);
}

// Sandler et al. 2018, Table 2: expansion, channels, repeats, stride.
Graph mobilenet_v2() {
  GraphBuilder net("mobilenet_v2", "MobileNet v2 (224x224)", {3, 224, 224});
  constexpr std::array<std::array<int, 4>, 7> stages{
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  int at = conv_bn_relu(net, "conv1", 0, 32, square(3, 2, 1));
  int number = 0;
  for (const auto& [expansion, channels, repeats, first_stride] : stages)
    for (int i = 0; i < repeats; ++i) {
      const std::string name = "block" + std::to_string(++number);
      const int stride = i == 0 ? first_stride : 1, in = net.shape(at).channels;
      int out = expansion > 1 ? conv_bn_relu(net, name + "/expand", at, in * expansion, square(1)) : at;
      out = conv_bn(net, name + "/project", depthwise(net, name + "/dw", out, stride), channels, square(1));
      at = stride == 1 && in == channels ? net.add(name + "/add", {out, at}) : out;
    }
  return classified(net, conv_bn_relu(net, "conv9", at, 1280, square(1)), kClasses);
}

// Huang et al. 2017, growth 32: batch norm and ReLU come before the convolutions.
Graph densenet(const std::string& name, const std::string& title, std::array<int, 4> layers) {
  constexpr int growth = 32;
  GraphBuilder net(name, title, {3, 224, 224});
  const auto bn_relu_conv = [&](const std::string& layer, int from, int out, Window window) {
    return net.conv(layer, net.relu(layer + "/relu", net.batch_norm(layer + "/bn", from)), out, window, false);
  };
  int at = residual_stem(net);
  for (int block = 0; block < 4; ++block) {
    for (int i = 0; i < layers[static_cast<std::size_t>(block)]; ++i) {
      const std::string layer = "d" + std::to_string(block + 1) + "l" + std::to_string(i + 1);
      const int narrow = bn_relu_conv(layer + "/1x1", at, 4 * growth, square(1));
      at = net.concat(layer + "/concat", {at, bn_relu_conv(layer + "/3x3", narrow, growth, square(3, 1, 1))});
    }
    const std::string transition = "t" + std::to_string(block + 1);
    if (block < 3)
      at = net.avg_pool(transition + "/pool",
                        bn_relu_conv(transition + "/1x1", at, net.shape(at).channels / 2, square(1)), square(2, 2));
  }
  return classified(net, net.relu("last/relu", net.batch_norm("last/bn", at)), kClasses);
}

// As defined by Lin, Chen & Yan 2014 and by Caffe's model zoo.
Graph nin() {
  GraphBuilder net("nin", "Network in Network (224x224)", {3, 224, 224});
  const auto block = [&](const std::string& name, int from, std::array<int, 3> out, Window window) {
    int at = conv_relu(net, name + "/conv", from, out[0], window);
    at = conv_relu(net, name + "/a", at, out[1], square(1));
    return conv_relu(net, name + "/b", at, out[2], square(1));
  };
  int at = net.max_pool("pool1", block("b1", 0, {96, 96, 96}, square(11, 4)), square(3, 2));
  at = net.max_pool("pool2", block("b2", at, {256, 256, 256}, square(5, 1, 2)), square(3, 2));
  at = net.max_pool("pool3", block("b3", at, {384, 384, 384}, square(3, 1, 1)), square(3, 2));
  at = block("b4", net.dropout("drop", at), {1024, 1024, kClasses}, square(3, 1, 1));
  net.softmax("loss", net.global_avg_pool("gap", at));
  return net.finish();
}

// Szegedy et al. 2017, Figs. 3 to 9.
class InceptionV4 {
 public:
  Graph build() {
    int at = stem();
    for (int i = 1; i <= 4; ++i) at = block_a("a" + std::to_string(i), at);
    at = reduction_a(at);
    for (int i = 1; i <= 7; ++i) at = block_b("b" + std::to_string(i), at);
    at = reduction_b(at);
    for (int i = 1; i <= 3; ++i) at = block_c("c" + std::to_string(i), at);
    return classified(net_, at, kClasses);
  }

 private:
  int conv(const std::string& name, int from, int out, Window window) {
    return conv_bn_relu(net_, name, from, out, window);
  }
  int same(const std::string& name, int from, int out, int height, int width) {
    return conv(name, from, out, keep_size(height, width));
  }
  int pooled(const std::string& name, int from) { return net_.avg_pool(name, from, square(3, 1, 1)); }

  int stem() {
    int at = conv("stem1", 0, 32, square(3, 2));
    at = same("stem3", conv("stem2", at, 32, square(3)), 64, 3, 3);
    at =
        net_.concat("stem4", {net_.max_pool("stem4/pool", at, square(3, 2)), conv("stem4/conv", at, 96, square(3, 2))});
    const int left = conv("stem5/b", same("stem5/a", at, 64, 1, 1), 96, square(3));
    int right = same("stem6/a", at, 64, 1, 1);
    right = same("stem6/c", same("stem6/b", right, 64, 7, 1), 64, 1, 7);
    at = net_.concat("stem7", {left, conv("stem6/d", right, 96, square(3))});
    return net_.concat("stem8",
                       {conv("stem8/conv", at, 192, square(3, 2)), net_.max_pool("stem8/pool", at, square(3, 2))});
  }
  int block_a(const std::string& n, int from) {
    const int third = same(n + "/3b", same(n + "/3a", from, 64, 1, 1), 96, 3, 3);
    const int fourth = same(n + "/4c", same(n + "/4b", same(n + "/4a", from, 64, 1, 1), 96, 3, 3), 96, 3, 3);
    return net_.concat(
        n, {same(n + "/1", pooled(n + "/pool", from), 96, 1, 1), same(n + "/2", from, 96, 1, 1), third, fourth});
  }
  int reduction_a(int from) {
    const int deep = same("ra/2b", same("ra/2a", from, 192, 1, 1), 224, 3, 3);
    return net_.concat("ra", {net_.max_pool("ra/pool", from, square(3, 2)), conv("ra/1", from, 384, square(3, 2)),
                              conv("ra/2c", deep, 256, square(3, 2))});
  }
  int block_b(const std::string& n, int from) {
    const int third = same(n + "/3c", same(n + "/3b", same(n + "/3a", from, 192, 1, 1), 224, 1, 7), 256, 7, 1);
    int fourth = same(n + "/4b", same(n + "/4a", from, 192, 1, 1), 192, 1, 7);
    fourth = same(n + "/4d", same(n + "/4c", fourth, 224, 7, 1), 224, 1, 7);
    return net_.concat(n, {same(n + "/1", pooled(n + "/pool", from), 128, 1, 1), same(n + "/2", from, 384, 1, 1), third,
                           same(n + "/4e", fourth, 256, 7, 1)});
  }
  int reduction_b(int from) {
    const int second = conv("rb/1b", same("rb/1a", from, 192, 1, 1), 192, square(3, 2));
    const int third = same("rb/2c", same("rb/2b", same("rb/2a", from, 256, 1, 1), 256, 1, 7), 320, 7, 1);
    return net_.concat("rb",
                       {net_.max_pool("rb/pool", from, square(3, 2)), second, conv("rb/2d", third, 320, square(3, 2))});
  }
  int block_c(const std::string& n, int from) {
    const int third = same(n + "/3", from, 384, 1, 1);
    const int fourth = same(n + "/4c", same(n + "/4b", same(n + "/4a", from, 384, 1, 1), 448, 1, 3), 512, 3, 1);
    return net_.concat(n, {same(n + "/1", pooled(n + "/pool", from), 256, 1, 1), same(n + "/2", from, 256, 1, 1),
                           same(n + "/3a", third, 256, 1, 3), same(n + "/3b", third, 256, 3, 1),
                           same(n + "/4d", fourth, 256, 1, 3), same(n + "/4e", fourth, 256, 3, 1)});
  }

  GraphBuilder net_{"inception_v4", "Inception-v4 (299x299)", {3, 299, 299}};
};

}  // namespace

std::vector<Entry> convolutional_networks() {
  return {
      {"resnet18",
       [] {
         return basic_resnet("resnet18", "ResNet-18 (224x224)", {2, 2, 2, 2});
       }},
      {"resnet34",
       [] {
         return basic_resnet("resnet34", "ResNet-34 (224x224)", {3, 4, 6, 3});
       }},
      {"resnext50", resnext50},
      {"alexnet_owt", alexnet_owt},
      {"alexnet_tf", alexnet_tf},
      {"squeezenet", squeezenet},
      {"mobilenet_v1", mobilenet_v1},
      {"mobilenet_v2", mobilenet_v2, "ReLU6"},
      {"densenet121",
       [] {
         return densenet("densenet121", "DenseNet-121 (224x224)", {6, 12, 24, 16});
       }},
      {"densenet169",
       [] {
         return densenet("densenet169", "DenseNet-169 (224x224)", {6, 12, 32, 32});
       }},
      {"densenet201",
       [] {
         return densenet("densenet201", "DenseNet-201 (224x224)", {6, 12, 48, 32});
       }},
      {"nin", nin},
      {"inception_v4", [] { return InceptionV4().build(); }},
  };
}

}  // namespace lockstep::model::zoo
