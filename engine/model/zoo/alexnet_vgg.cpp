// Defines AlexNet (Krizhevsky, Sutskever & Hinton, NIPS 2012; layers as in Caffe's bvlc_alexnet) and VGG (Simonyan &
// Zisserman, ICLR 2015, configurations A, B, D and E).
#include <array>
#include <utility>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

enum class Normalisation { lrn, batch_norm };

class AlexNet {
 public:
  AlexNet(std::string name, std::string title, int groups, Normalisation normalisation)
      : net_(std::move(name), std::move(title), {3, 227, 227}), groups_(groups), normalisation_(normalisation) {}

  Graph build() {
    convolution("conv1", 96, square(11, 4));
    local_response("norm1");
    at_ = net_.max_pool("pool1", at_, square(3, 2));
    convolution("conv2", 256, grouped(square(5, 1, 2)));
    local_response("norm2");
    at_ = net_.max_pool("pool2", at_, square(3, 2));
    convolution("conv3", 384, square(3, 1, 1));
    convolution("conv4", 384, grouped(square(3, 1, 1)));
    convolution("conv5", 256, grouped(square(3, 1, 1)));
    at_ = net_.max_pool("pool5", at_, square(3, 2));
    batch_norm("pool5");
    hidden("fc6", "drop6");
    hidden("fc7", "drop7");
    net_.softmax("loss", net_.fc("fc8", at_, 1000));
    return net_.finish();
  }

 private:
  Window grouped(Window window) const {
    window.groups = groups_;
    return window;
  }
  void batch_norm(const std::string& after) {
    if (normalisation_ == Normalisation::batch_norm) at_ = net_.batch_norm(after + "/bn", at_);
  }
  void local_response(const std::string& name) {
    if (normalisation_ == Normalisation::lrn) at_ = net_.lrn(name, at_);
  }
  void convolution(const std::string& name, int out, Window window) {
    at_ = net_.conv(name, at_, out, window, true);
    batch_norm(name);
    at_ = net_.relu(name + "/relu", at_);
  }
  void hidden(const std::string& name, const std::string& dropout) {
    at_ = net_.fc(name, at_, 4096);
    batch_norm(name);
    at_ = net_.dropout(dropout, net_.relu(name + "/relu", at_));
  }

  GraphBuilder net_;
  int groups_;
  Normalisation normalisation_;
  int at_ = 0;
};

constexpr std::array<int, 5> kVggChannels{64, 128, 256, 512, 512};

std::string stage_layer(int stage, int index) {
  return "conv" + std::to_string(stage + 1) + "_" + std::to_string(index + 1);
}

Graph vgg(const std::string& name, const std::string& title, std::array<int, 5> convolutions, int classes) {
  GraphBuilder net(name, title, {3, 224, 224});
  int at = 0;
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      at = conv_relu(net, stage_layer(stage, i), at, kVggChannels[stage], square(3, 1, 1));
    }
    at = net.max_pool("pool" + std::to_string(stage + 1), at, square(2, 2));
  }
  at = net.dropout("drop6", net.relu("fc6/relu", net.fc("fc6", at, 4096)));
  at = net.dropout("drop7", net.relu("fc7/relu", net.fc("fc7", at, 4096)));
  net.softmax("loss", net.fc("fc8", at, classes));
  return net.finish();
}

// Layer order of Crossbow's VGG for CIFAR: the ReLU comes before the batch norm, and dropout between the convolutions
// of a stage.
Graph vgg16_cifar100() {
  constexpr std::array<int, 5> convolutions{2, 2, 3, 3, 3};
  GraphBuilder net("vgg16_cifar100", "VGG-16 CIFAR-100 (13 conv+bias+BN, FC512+BN, FC100)", {3, 32, 32});
  int at = 0;
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      const std::string name = stage_layer(stage, i);
      at = net.batch_norm(name + "/bn", conv_relu(net, name, at, kVggChannels[stage], square(3, 1, 1)));
      if (i + 1 < convolutions[stage]) at = net.dropout(name + "/drop", at);
    }
    at = net.max_pool("pool" + std::to_string(stage + 1), at, square(2, 2));
  }
  at = net.fc("fc1", net.dropout("pool5/drop", at), 512);
  at = net.dropout("fc1/drop", net.batch_norm("fc1/bn", net.relu("fc1/relu", at)));
  net.softmax("loss", net.fc("fc2", at, 100));
  return net.finish();
}

Entry alexnet(const char* name, const char* title, int groups, Normalisation normalisation) {
  return {name, [=] { return AlexNet(name, title, groups, normalisation).build(); }};
}

Entry vgg_entry(const char* name, const char* title, std::array<int, 5> convolutions, int classes = 1000) {
  return {name, [=] { return vgg(name, title, convolutions, classes); }};
}

}  // namespace

std::vector<Entry> alexnets_and_vggs() {
  return {
      alexnet("alexnet_grouped", "AlexNet (227x227, groups=2)", 2, Normalisation::lrn),
      alexnet("alexnet_ungrouped", "AlexNet (227x227, groups=1)", 1, Normalisation::lrn),
      alexnet("alexnet_bn_jizhi",
              "AlexNet-BN + pool5 BN (Jizhi Fig. 3; ungrouped, BN after conv1-5, pool5, fc6, fc7 - placement assumed)",
              1, Normalisation::batch_norm),
      vgg_entry("vgg11", "VGG-11 (224x224)", {1, 1, 2, 2, 2}),
      vgg_entry("vgg13", "VGG-13 (224x224)", {2, 2, 2, 2, 2}),
      vgg_entry("vgg16", "VGG-16 (224x224)", {2, 2, 3, 3, 3}),
      vgg_entry("vgg19", "VGG-19 (224x224)", {2, 2, 4, 4, 4}),
      vgg_entry("vgg19_22k", "VGG19-22K (21841-way classifier)", {2, 2, 4, 4, 4}, 21841),
      {"vgg16_cifar100", vgg16_cifar100},
  };
}

}  // namespace lockstep::model::zoo
