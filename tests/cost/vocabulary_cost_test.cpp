// Costs of a vocabulary in addition to its FLOP: rows that tensor cores cannot load whole, and a loss with separate
// passes over memory. Also the costs of an unfused GELU.
#include <algorithm>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

constexpr int kTokens = 8, kWidth = 16;

model::Graph with_vocabulary(int words) {
  model::GraphBuilder net("v", "v", {1, kTokens, 1});
  const int x = net.embedding("words", 0, words, kWidth);
  const int active = net.activation("active", model::LayerKind::gelu, x);
  net.softmax("loss", net.linear("output", active, words));
  return net.finish();
}

LayerCost vocabulary_cost_of(const model::Graph& graph, model::LayerKind kind, const DeviceCost& device,
                             int batch = 1) {
  const ModelCost cost = roofline_cost(graph, device, Optimizer::adam, batch);
  for (std::size_t i = 0; i < graph.layers.size(); ++i)
    if (graph.layers[i].kind == kind) return cost.layers[i];
  throw std::runtime_error("no such layer");
}

int alignment_of(const model::Graph& graph, int element_bytes) {
  int bytes = 16;
  for (const model::Layer& layer : graph.layers) bytes = std::min(bytes, alignment_bytes(layer, element_bytes));
  return bytes;
}

// Returns a device that counts only FLOP or only bytes, so that seconds are their number.
DeviceCost only(double flops, double bytes_per_s) {
  DeviceCost device;
  device.peak_flops = flops;
  device.memory_bandwidth_bytes_per_s = bytes_per_s;
  device.activation_bytes = 2;
  return device;
}

}  // namespace

TEST_CASE("Rows begin on the largest power of two that divides their bytes, at most 16") {
  CHECK(alignment_of(with_vocabulary(50257), 2) == 2);
  CHECK(alignment_of(with_vocabulary(30522), 2) == 4);
  CHECK(alignment_of(with_vocabulary(50260), 2) == 8);
  CHECK(alignment_of(with_vocabulary(50264), 2) == 16);
  CHECK(alignment_of(with_vocabulary(50304), 2) == 16);
  CHECK(alignment_of(with_vocabulary(50257), 4) == 4);
  CHECK(alignment_of(with_vocabulary(50260), 4) == 16);
}

TEST_CASE(
    "Products of an unaligned vocabulary take their FLOP's time over the share that they reach, other ones do not") {
  DeviceCost device = only(1, 1e30);
  device.unaligned_efficiency = {0.25, 0.5};
  for (const auto& [words, share] : {std::pair{33, 0.25}, {34, 0.5}, {36, 0.5}, {40, 1.0}}) {
    const LayerCost cost = vocabulary_cost_of(with_vocabulary(words), model::LayerKind::linear, device, 3);
    const double flop = 2.0 * 3 * kTokens * kWidth * words;
    CHECK(cost.forward_s == Approx(flop / share));
    CHECK(cost.backward_s == Approx(2 * flop / share));
  }
}

TEST_CASE("A loss of given bytes per score moves them all, the more forward and backward the more scores") {
  DeviceCost device = only(1e30, 1);
  const LayerCost by_passes = vocabulary_cost_of(with_vocabulary(40), model::LayerKind::softmax, device, 3);
  CHECK(by_passes.forward_s + by_passes.backward_s == Approx(5 * 2 * 3 * kTokens * 40));
  device.loss_bytes_per_logit = 48;
  const LayerCost cost = vocabulary_cost_of(with_vocabulary(40), model::LayerKind::softmax, device, 3);
  CHECK(cost.forward_s + cost.backward_s == Approx(48 * 3 * kTokens * 40));
  CHECK(cost.forward_s == Approx(22 * 3 * kTokens * 40));
}

TEST_CASE("A GELU in steps moves its bytes for each element, as one kernel a pass five times an element") {
  DeviceCost device = only(1e30, 1);
  const LayerCost once = vocabulary_cost_of(with_vocabulary(40), model::LayerKind::gelu, device, 3);
  CHECK(once.forward_s + once.backward_s == Approx(5 * 2 * 3 * kTokens * kWidth));
  device.gelu_bytes = 170;
  const LayerCost in_steps = vocabulary_cost_of(with_vocabulary(40), model::LayerKind::gelu, device, 3);
  CHECK(in_steps.forward_s + in_steps.backward_s == Approx(170 * 3 * kTokens * kWidth));
}
