// Defines GoogLeNet (Szegedy et al., "Going Deeper with Convolutions", CVPR 2015; layers as in Caffe's bvlc_googlenet).
#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

/// Channels of an inception module: the 1x1 branch, the reduced and full 3x3 and 5x5, the projection after the pooling.
struct Module {
  int one, three_reduced, three, five_reduced, five, projection;
};

int inception(GraphBuilder& net, const std::string& name, int from, Module m) {
  const int one = conv_relu(net, name + "/1x1", from, m.one, square(1));
  int three = conv_relu(net, name + "/3x3r", from, m.three_reduced, square(1));
  three = conv_relu(net, name + "/3x3", three, m.three, square(3, 1, 1));
  int five = conv_relu(net, name + "/5x5r", from, m.five_reduced, square(1));
  five = conv_relu(net, name + "/5x5", five, m.five, square(5, 1, 2));
  int pooled = net.max_pool(name + "/pool", from, square(3, 1, 1));
  pooled = conv_relu(net, name + "/poolproj", pooled, m.projection, square(1));
  return net.concat(name + "/concat", {one, three, five, pooled});
}

/// An auxiliary classifier; it only exists in training.
void head(GraphBuilder& net, const std::string& name, int from) {
  int at = net.avg_pool(name + "/avgpool", from, square_ceil(5, 3));
  at = conv_relu(net, name + "/conv", at, 128, square(1));
  at = net.dropout(name + "/drop", net.relu(name + "/fc/relu", net.fc(name + "/fc", at, 1024)));
  net.softmax(name + "/loss", net.fc(name + "/cls", at, 1000));
}

int stem(GraphBuilder& net) {
  int at = conv_relu(net, "conv1/7x7_s2", 0, 64, square(7, 2, 3));
  at = net.lrn("norm1", net.max_pool("pool1", at, square_ceil(3, 2)));
  at = conv_relu(net, "conv2/reduce", at, 64, square(1));
  at = conv_relu(net, "conv2/3x3", at, 192, square(3, 1, 1));
  return net.max_pool("pool2", net.lrn("norm2", at), square_ceil(3, 2));
}

Graph build(const std::string& name, const std::string& title, bool heads) {
  GraphBuilder net(name, title, {3, 224, 224});
  int at = inception(net, "3a", stem(net), {64, 96, 128, 16, 32, 32});
  at = inception(net, "3b", at, {128, 128, 192, 32, 96, 64});
  at = net.max_pool("pool3", at, square_ceil(3, 2));
  at = inception(net, "4a", at, {192, 96, 208, 16, 48, 64});
  if (heads) head(net, "loss1", at);
  at = inception(net, "4b", at, {160, 112, 224, 24, 64, 64});
  at = inception(net, "4c", at, {128, 128, 256, 24, 64, 64});
  at = inception(net, "4d", at, {112, 144, 288, 32, 64, 64});
  if (heads) head(net, "loss2", at);
  at = inception(net, "4e", at, {256, 160, 320, 32, 128, 128});
  at = net.max_pool("pool4", at, square_ceil(3, 2));
  at = inception(net, "5a", at, {256, 160, 320, 32, 128, 128});
  at = inception(net, "5b", at, {384, 192, 384, 48, 128, 128});
  at = net.dropout("gap/drop", net.global_avg_pool("gap", at));
  net.softmax("loss3/loss", net.fc("loss3/cls", at, 1000));
  return net.finish();
}

}  // namespace

std::vector<Entry> googlenets() {
  return {{"googlenet_aux",
           [] { return build("googlenet_aux", "GoogLeNet v1 (BVLC, 224x224, with 2 aux classifiers)", true); }},
          {"googlenet_noaux", [] { return build("googlenet_noaux", "GoogLeNet v1 (BVLC, 224x224, no aux)", false); }}};
}

}  // namespace lockstep::model::zoo
