// Inception-V3 (Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016), 299x299,
// every convolution with batch norm and ReLU. Branch j of module M is M.bj, its i-th convolution M.bj.i.
#include <utility>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

struct Convolution {
  int out;
  Window window;
};

/// Convolutions one after the other, named prefix + first, prefix + (first + 1), ...
int chain(GraphBuilder& net, const std::string& prefix, int from, const std::vector<Convolution>& convolutions,
          int first = 0) {
  for (const Convolution& convolution : convolutions) {
    from = conv_bn_relu(net, prefix + std::to_string(first++), from, convolution.out, convolution.window);
  }
  return from;
}

int pooled_branch(GraphBuilder& net, const std::string& name, int from, int out) {
  const int pool = net.avg_pool(name + ".b3.pool", from, keep_size(3, 3));
  return chain(net, name + ".b3.", pool, {{out, square(1)}}, 1);
}

int inception_v3_stem(GraphBuilder& net) {
  int at = conv_bn_relu(net, "1a", 0, 32, square(3, 2));
  at = conv_bn_relu(net, "2a", at, 32, square(3));
  at = conv_bn_relu(net, "2b", at, 64, square(3, 1, 1));
  at = net.max_pool("pool1", at, square(3, 2));
  at = conv_bn_relu(net, "3b", at, 80, square(1));
  at = conv_bn_relu(net, "4a", at, 192, square(3));
  return net.max_pool("pool2", at, square(3, 2));
}

/// Modules 5b to 5d, 35x35.
int module_35(GraphBuilder& net, const std::string& name, int from, int pooled_channels) {
  const int b0 = chain(net, name + ".b0.", from, {{64, square(1)}});
  const int b1 = chain(net, name + ".b1.", from, {{48, square(1)}, {64, keep_size(5, 5)}});
  const int b2 = chain(net, name + ".b2.", from, {{64, square(1)}, {96, keep_size(3, 3)}, {96, keep_size(3, 3)}});
  const int b3 = pooled_branch(net, name, from, pooled_channels);
  return net.concat(name + ".concat", {b0, b1, b2, b3});
}

/// Adds module 6a, from 35x35 to 17x17.
int reduce_to_17(GraphBuilder& net, const std::string& name, int from) {
  const int b0 = chain(net, name + ".b0.", from, {{384, square(3, 2)}});
  const int b1 = chain(net, name + ".b1.", from, {{64, square(1)}, {96, keep_size(3, 3)}, {96, square(3, 2)}});
  const int b2 = net.max_pool(name + ".b2.pool", from, square(3, 2));
  return net.concat(name + ".concat", {b0, b1, b2});
}

/// Modules 6b to 6e, 17x17, with 7x7 convolutions factored into 1x7 and 7x1.
int module_17(GraphBuilder& net, const std::string& name, int from, int c) {
  const Window wide = keep_size(1, 7);
  const Window tall = keep_size(7, 1);
  const int b0 = chain(net, name + ".b0.", from, {{192, square(1)}});
  const int b1 = chain(net, name + ".b1.", from, {{c, square(1)}, {c, wide}, {192, tall}});
  const int b2 = chain(net, name + ".b2.", from, {{c, square(1)}, {c, tall}, {c, wide}, {c, tall}, {192, wide}});
  const int b3 = pooled_branch(net, name, from, 192);
  return net.concat(name + ".concat", {b0, b1, b2, b3});
}

/// Adds module 7a, from 17x17 to 8x8.
int reduce_to_8(GraphBuilder& net, const std::string& name, int from) {
  const int b0 = chain(net, name + ".b0.", from, {{192, square(1)}, {320, square(3, 2)}});
  const int b1 = chain(net, name + ".b1.", from,
                       {{192, square(1)}, {192, keep_size(1, 7)}, {192, keep_size(7, 1)}, {192, square(3, 2)}});
  const int b2 = net.max_pool(name + ".b2.pool", from, square(3, 2));
  return net.concat(name + ".concat", {b0, b1, b2});
}

/// Adds a 1x3 and a 3x1 convolution in parallel, and concatenates them.
int split(GraphBuilder& net, const std::string& name, const std::string& branch, int from) {
  const int a = conv_bn_relu(net, name + "a", from, 384, keep_size(1, 3));
  const int b = conv_bn_relu(net, name + "b", from, 384, keep_size(3, 1));
  return net.concat(branch + ".concat", {a, b});
}

/// Modules 7b and 7c, 8x8.
int module_8(GraphBuilder& net, const std::string& name, int from) {
  const int b0 = chain(net, name + ".b0.", from, {{320, square(1)}});
  int b1 = chain(net, name + ".b1.", from, {{384, square(1)}});
  b1 = split(net, name + ".b1.1", name + ".b1", b1);
  int b2 = chain(net, name + ".b2.", from, {{448, square(1)}, {384, keep_size(3, 3)}});
  b2 = split(net, name + ".b2.2", name + ".b2", b2);
  const int b3 = pooled_branch(net, name, from, 192);
  return net.concat(name + ".concat", {b0, b1, b2, b3});
}

/// The auxiliary classifier; it only exists in training.
void head(GraphBuilder& net, int from) {
  int at = net.avg_pool("aux/pool", from, square(5, 3));
  at = conv_bn_relu(net, "aux/conv0", at, 128, square(1));
  at = conv_bn_relu(net, "aux/conv1", at, 768, square(5));
  net.softmax("aux/loss", net.fc("aux/fc", at, 1000));
}

Graph inception_v3(const std::string& name, const std::string& title, bool with_head) {
  GraphBuilder net(name, title, {3, 299, 299});
  int at = module_35(net, "5b", inception_v3_stem(net), 32);
  at = module_35(net, "5c", at, 64);
  at = module_35(net, "5d", at, 64);
  at = reduce_to_17(net, "6a", at);
  for (const auto& [module, channels] : {std::pair{"6b", 128}, {"6c", 160}, {"6d", 160}, {"6e", 192}}) {
    at = module_17(net, module, at, channels);
  }
  if (with_head) head(net, at);
  at = reduce_to_8(net, "7a", at);
  at = module_8(net, "7b", at);
  at = module_8(net, "7c", at);
  at = net.dropout("gap/drop", net.global_avg_pool("gap", at));
  net.softmax("loss", net.fc("fc", at, 1000));
  return net.finish();
}

}  // namespace

std::vector<Entry> inceptions() {
  return {{"inception_v3",
           [] { return inception_v3("inception_v3", "Inception-V3 (299x299, BN gamma+beta, no aux head)", false); }},
          {"inception_v3_aux", [] {
             return inception_v3("inception_v3_aux", "Inception-V3 (299x299, BN gamma+beta, with aux head)", true);
           }}};
}

}  // namespace lockstep::model::zoo
