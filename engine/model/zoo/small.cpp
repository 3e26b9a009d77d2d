// Defines networks for MNIST and CIFAR-10: LeNet as in Crossbow and in Caffe, Caffe's CIFAR-10 quick, ResNet-32.
#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

/// How a residual block's input reaches its sum when the block changes the shape.
enum class Shortcut {
  projection,  ///< 1x1 convolution and batch norm
  option_a,    ///< identity: every second pixel, zero channels appended; no parameters
};

int basic_block(GraphBuilder& net, const std::string& name, int from, int width, int stride, Shortcut shortcut) {
  int at = conv_bn_relu(net, name + "/conv1", from, width, square(3, stride, 1));
  at = conv_bn(net, name + "/conv2", at, width, square(3, 1, 1));
  int skip = from;
  if (stride > 1 && shortcut == Shortcut::projection) {
    skip = conv_bn(net, name + "/shortcut", from, width, square(1, stride));
  } else if (stride > 1) {
    skip = net.subsample(name + "/shortcut", from, width, stride);
  }
  return net.relu(name + "/relu", net.add(name + "/add", {at, skip}));
}

/// 6 n + 2 layers with n = 5: three stages of five blocks of two 3x3 convolutions. Returns the last stage's output.
int resnet32_body(GraphBuilder& net, Shortcut shortcut) {
  int at = conv_bn_relu(net, "conv1", 0, 16, square(3, 1, 1));
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < 5; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      const std::string name = "s" + std::to_string(stage + 1) + "b" + std::to_string(i + 1);
      at = basic_block(net, name, at, 16 << stage, stride, shortcut);
    }
  }
  return at;
}

Graph lenet_crossbow() {
  GraphBuilder net("lenet_crossbow", "LeNet (Crossbow repo variant, MNIST 28x28)", {1, 28, 28});
  int at = net.max_pool("pool1", conv_relu(net, "conv1", 0, 32, square(5)), square(2, 2));
  at = net.max_pool("pool2", conv_relu(net, "conv2", at, 64, square(5)), square(2, 2));
  at = net.dropout("fc1/drop", net.relu("fc1/relu", net.fc("fc1", at, 1024)));
  net.softmax("loss", net.fc("fc2", at, 10));
  return net.finish();
}

// Caffe's LeNet has no ReLU after its convolutions.
Graph lenet_caffe() {
  GraphBuilder net("lenet_caffe", "LeNet (Caffe, MNIST 28x28)", {1, 28, 28});
  int at = net.max_pool("pool1", net.conv("conv1", 0, 20, square(5), true), square(2, 2));
  at = net.max_pool("pool2", net.conv("conv2", at, 50, square(5), true), square(2, 2));
  at = net.relu("ip1/relu", net.fc("ip1", at, 500));
  net.softmax("loss", net.fc("ip2", at, 10));
  return net.finish();
}

// The first stage pools before its ReLU. There is no ReLU between the two fully-connected layers.
Graph cifar10_quick() {
  GraphBuilder net("cifar10_quick", "CIFAR-10 quick (Caffe, 32x32)", {3, 32, 32});
  int at = net.max_pool("pool1", net.conv("conv1", 0, 32, square(5, 1, 2), true), square_ceil(3, 2));
  at = net.relu("conv1/relu", at);
  at = net.avg_pool("pool2", conv_relu(net, "conv2", at, 32, square(5, 1, 2)), square_ceil(3, 2));
  at = net.avg_pool("pool3", conv_relu(net, "conv3", at, 64, square(5, 1, 2)), square_ceil(3, 2));
  net.softmax("loss", net.fc("ip2", net.fc("ip1", at, 64), 10));
  return net.finish();
}

Graph resnet32_crossbow() {
  GraphBuilder net("resnet32_crossbow",
                   "ResNet-32 CIFAR-10 (projection shortcut, final avgpool 7x7 s1 (Crossbow repo))", {3, 32, 32});
  const int at = net.avg_pool("avgpool", resnet32_body(net, Shortcut::projection), square(7));
  net.softmax("loss", net.fc("fc", at, 10));
  return net.finish();
}

Graph resnet32_option_a() {
  GraphBuilder net("resnet32_optA", "ResNet-32 CIFAR-10 (option A (identity))", {3, 32, 32});
  const int at = net.global_avg_pool("gap", resnet32_body(net, Shortcut::option_a));
  net.softmax("loss", net.fc("fc", at, 10));
  return net.finish();
}

}  // namespace

std::vector<Entry> small_networks() {
  return {{"lenet_crossbow", lenet_crossbow},
          {"lenet_caffe", lenet_caffe},
          {"cifar10_quick", cifar10_quick},
          {"resnet32_crossbow", resnet32_crossbow},
          {"resnet32_optA", resnet32_option_a}};
}

}  // namespace lockstep::model::zoo
