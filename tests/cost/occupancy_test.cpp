// The share of a GPU that kernels fill: bounds, growth with the batch, a case by hand.
#include "sim/cost/occupancy.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

DeviceCost wide_device() {
  DeviceCost d;
  d.peak_flops = 6e12;
  d.memory_bandwidth_bytes_per_s = 300e9;
  d.launch_s = 5e-6;
  d.compute_efficiency = {{1, 0.5}};
  d.memory_efficiency = 0.8;
  return d;
}

const OccupancyDevice kGpu{24, 2048, 512, 64};

double fill_of(const model::Graph& graph, int batch) {
  const ModelCost cost = roofline_cost(graph, wide_device(), Optimizer::sgd, batch);
  return mean_fill(cost, layer_fills(graph, cost, wide_device(), batch, kGpu));
}

}  // namespace

TEST_CASE("every kernel fills some of the GPU and no more than all of it") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    for (int batch : {1, 8, 64, 512}) {
      const ModelCost cost = roofline_cost(graph, wide_device(), Optimizer::sgd, batch);
      for (const LayerFill& fill : layer_fills(graph, cost, wide_device(), batch, kGpu)) {
        REQUIRE(fill.forward > 0);
        REQUIRE(fill.forward <= 1);
        REQUIRE(fill.backward > 0);
        REQUIRE(fill.backward <= 1);
      }
      INFO(name << " at " << batch);
      REQUIRE(fill_of(graph, batch) > 0);
      REQUIRE(fill_of(graph, batch) <= 1);
    }
  }
}

TEST_CASE("the fill rises with the batch, and falls with the size of the GPU") {
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "vgg16_cifar100", "resnet50"}) {
    const model::Graph graph = model::zoo_graph(name);
    double before = 0;
    for (int batch : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
      INFO(name << " at " << batch);
      const double fill = fill_of(graph, batch);
      CHECK(fill >= before);
      before = fill;
      for (const model::Layer& layer : graph.layers)
        REQUIRE(layer_occupancy(layer, batch, {48, 2048, 512, 64}) <= layer_occupancy(layer, batch, kGpu));
    }
    CHECK(fill_of(graph, 1) < 0.5 * fill_of(graph, 256));
  }
}

TEST_CASE("occupancy by hand: a convolution of 32 channels and 16 x 16 pixels at batch 16") {
  model::GraphBuilder builder("one", "one", {3, 16, 16});
  model::Window window;
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = 1;
  const int conv = builder.conv("conv", 0, 32, window, false);
  builder.softmax("loss", builder.fc("fc", builder.relu("relu", conv), 10));
  const model::Graph graph = builder.finish();
  // The convolution has 16 x 32 x 16 x 16 = 131,072 outputs, 64 per thread: 2,048 threads of 24 x 512 = 12,288.
  CHECK(layer_occupancy(graph.layers[1], 16, kGpu) == Approx(2048.0 / 12288));
  // The ReLU has 131,072 threads, more than 24 x 2,048 = 49,152; at batch 4 it has 32,768.
  CHECK(layer_occupancy(graph.layers[2], 16, kGpu) == 1);
  CHECK(layer_occupancy(graph.layers[2], 4, kGpu) == Approx(32768.0 / 49152));
  // Launched for 5 us of 20 us forward: 1/6 x 3/4. Backward two kernels (50 us, 10 us of launches): 1/6 x 4/5; the
  // ReLU's 10 us: 1/2, backward 25 us: 4/5.
  ModelCost cost;
  cost.layers = {{0, 0}, {20e-6, 50e-6}, {10e-6, 25e-6}, {0, 0}, {0, 0}};
  const std::vector<LayerFill> fills = layer_fills(graph, cost, wide_device(), 16, kGpu);
  CHECK(fills[1].forward == Approx(1.0 / 8));
  CHECK(fills[1].backward == Approx(2.0 / 15));
  CHECK(fills[2].forward == Approx(0.5));
  CHECK(fills[2].backward == Approx(0.8));
  // (20 / 8 + 50 x 2/15 + 10 / 2 + 25 x 0.8) / 105 us
  CHECK(mean_fill(cost, fills) == Approx((2.5 + 100.0 / 15 + 5 + 20) / 105));
}
