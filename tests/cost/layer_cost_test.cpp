#include "sim/cost/layer_cost.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

DeviceCost device() {
  DeviceCost d;
  d.peak_flops = 10e12;
  d.memory_bandwidth_bytes_per_s = 400e9;
  d.launch_s = 5e-6;
  d.compute_efficiency = {{1, 0.5}};
  d.memory_efficiency = 0.8;
  return d;
}

// Returns the multiply-adds of a sample without the pairs that fused attention skips.
double computed_macs(const model::Graph& graph) {
  double macs = static_cast<double>(graph.macs());
  for (const model::Layer& layer : graph.layers) {
    const model::AttentionShape& a = layer.attention;
    if (layer.kind != model::LayerKind::attention || !a.fused) continue;
    const int queries = layer.in.height;
    macs -= double(a.pairs_without_causal_mask(queries) - a.seen_pairs(queries)) * a.heads * (a.head_dim + a.value_dim);
  }
  return macs;
}

}  // namespace

TEST_CASE("no model beats the roofline: FLOP at peak, parameters at memory bandwidth") {
  DeviceCost ideal = device();
  ideal.launch_s = 0;
  ideal.compute_efficiency = {{1, 1}};
  ideal.memory_efficiency = 1;
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    for (int batch : {1, 16, 128}) {
      INFO(name << " at " << batch);
      const ModelCost cost = roofline_cost(graph, ideal, Optimizer::momentum, batch);
      // Forward takes 2 FLOP per MAC; backward takes twice that, less the first layer's input gradient.
      const double forward_s = 2.0 * computed_macs(graph) * batch / ideal.peak_flops;
      CHECK(cost.forward_s() >= forward_s * (1 - 1e-12));
      CHECK(cost.backward_s() >= forward_s * (1 - 1e-12));
      CHECK(cost.update_s >=
            20.0 * static_cast<double>(graph.parameter_count()) / ideal.memory_bandwidth_bytes_per_s * (1 - 1e-12));
      CHECK(cost.layers.size() == graph.layers.size());
    }
  }
}

TEST_CASE("a fully-connected layer worked by hand") {
  // 100 -> 50 features, batch 1000: 2 * 5000 * 1000 = 1e7 FLOP; at half of 10 TFLOP/s 2 us. Bytes: x 100,000, y 50,000,
  // weights and bias 5050 floats: 155,050 * 4 = 620,200 B; at 0.8 * 400 GB/s 1.938 us. Compute bound: 5 + 2 = 7 us.
  model::GraphBuilder builder("tiny", "tiny", {100, 1, 1});
  const int fc = builder.fc("fc", 0, 50);
  builder.softmax("loss", fc);
  const model::Graph graph = builder.finish();
  const ModelCost cost = roofline_cost(graph, device(), Optimizer::sgd, 1000);
  CHECK(cost.layers[1].forward_s == Approx(7e-6));
  // Its input is the data, so the backward pass is only the weight gradient.
  CHECK(cost.layers[1].backward_s == Approx(7e-6));
  // Update: two tensors launched, 5050 parameters at 12 bytes.
  CHECK(cost.update_s == Approx(2 * 5e-6 + 5050 * 12 / 320e9));
}

TEST_CASE("fast convolutions and channels in tiles worked by hand") {
  // 3x3, stride 1, 80 -> 96 channels at 100x100, batch 10: 9 * 80 * 96 * 10^4 MACs an image, 2 * 10 times that is
  // 1.3824e10 FLOP, at 5 TFLOP/s 2.7648 ms. In tiles of 64, 96 channels cost 128 and 80 cost 128.
  model::GraphBuilder builder("tiny", "tiny", {80, 100, 100});
  const model::Window window = [] {
    model::Window w;
    w.kernel_h = w.kernel_w = 3;
    w.pad_top = w.pad_bottom = w.pad_left = w.pad_right = 1;
    return w;
  }();
  const int first = builder.conv("first", 0, 80, window, false);
  const int conv = builder.conv("conv", first, 96, window, false);
  builder.softmax("loss", builder.fc("fc", builder.global_avg_pool("gap", conv), 10));
  const model::Graph graph = builder.finish();
  DeviceCost d = device();
  const double direct_s = 2 * 10 * 9.0 * 80 * 96 * 1e4 / 5e12;
  const auto cost_of = [&] { return roofline_cost(graph, d, Optimizer::sgd, 10).layers[2]; };
  CHECK(cost_of().forward_s == Approx(5e-6 + direct_s));
  d.fast_convolution_gain = 2.25;
  CHECK(cost_of().forward_s == Approx(5e-6 + direct_s / 2.25));
  d.channel_tile = 64;
  CHECK(cost_of().forward_s == Approx(5e-6 + direct_s / 2.25 * 128 / 96));
  // dw has the outputs' channels, dx the inputs'.
  CHECK(cost_of().backward_s == Approx(2 * 5e-6 + direct_s / 2.25 * (128. / 96 + 128. / 80)));
}

TEST_CASE("time grows with the batch, time per image falls") {
  const model::Graph graph = model::zoo_graph("resnet50");
  double last = 0, last_per_image = 1e9;
  for (int batch = 1; batch <= 512; batch *= 2) {
    const double seconds = roofline_cost(graph, device(), Optimizer::lars, batch).iteration_s();
    CHECK(seconds > last);
    CHECK(seconds / batch < last_per_image);
    last = seconds;
    last_per_image = seconds / batch;
  }
}

TEST_CASE("an anchored model reproduces its anchors exactly and lies between them elsewhere") {
  const model::Graph graph = model::zoo_graph("resnet50");
  const std::vector<RateAnchor> anchors{{32, 195}, {64, 219}};
  const auto seconds_at = [&](int batch) {
    ModelCost cost = roofline_cost(graph, device(), Optimizer::momentum, batch);
    cost.scale(anchor_factor(graph, device(), Optimizer::momentum, anchors, batch));
    return cost.iteration_s();
  };
  CHECK(seconds_at(32) == Approx(32 / 195.0).epsilon(1e-12));
  CHECK(seconds_at(64) == Approx(64 / 219.0).epsilon(1e-12));
  CHECK(48 / seconds_at(48) > 195);
  CHECK(48 / seconds_at(48) < 219);
  CHECK(seconds_at(128) > 2 * 0.95 * seconds_at(64));
}

TEST_CASE("efficiency follows its curve in log FLOP, flat outside") {
  model::GraphBuilder builder("tiny", "tiny", {1000, 1, 1});
  builder.fc("fc", 0, 1000, false);
  const model::Graph graph = builder.finish();
  DeviceCost d = device();
  d.launch_s = 0;
  d.memory_bandwidth_bytes_per_s = 1e18;
  d.compute_efficiency = {{2e6, 0.1}, {2e8, 0.5}};  // one image is 2e6 FLOP
  const auto efficiency = [&](int batch) {
    return 2e6 * batch / d.peak_flops / roofline_cost(graph, d, Optimizer::sgd, batch).layers[1].forward_s;
  };
  CHECK(efficiency(1) == Approx(0.1));
  CHECK(efficiency(10) == Approx(0.3));
  CHECK(efficiency(100) == Approx(0.5));
  CHECK(efficiency(1000) == Approx(0.5));
}

TEST_CASE("half-size activations never take longer") {
  const model::Graph graph = model::zoo_graph("alexnet_bn_jizhi");
  DeviceCost half = device();
  half.activation_bytes = 2;
  CHECK(roofline_cost(graph, half, Optimizer::lars, 64).iteration_s() <
        roofline_cost(graph, device(), Optimizer::lars, 64).iteration_s());
}

TEST_CASE("Adam, LAMB and the casts of mixed precision worked by hand") {
  model::GraphBuilder builder("tiny", "tiny", {100, 1, 1});
  builder.softmax("loss", builder.fc("fc", 0, 50));
  const model::Graph graph = builder.finish();
  const auto update_s = [&](Optimizer optimizer) { return roofline_cost(graph, device(), optimizer, 1).update_s; };
  // 5050 parameters: 7 and 13 arrays of 4 bytes at 320 GB/s; two tensors launched once, and twice for LAMB's norms.
  CHECK(update_s(Optimizer::adam) == Approx(2 * 5e-6 + 5050 * 28 / 320e9));
  // Moments of 2 bytes are read and written, and so are master weights: 28 - 2 x 2 x 2 - 2 x 2.
  DeviceCost narrow = device();
  narrow.saved_update_bytes =
      model::KeptPrecisions{model::StatePrecision::bf16, model::MasterWeights::fp16}.saved_update_bytes(Optimizer::adam,
                                                                                                        4);
  CHECK(roofline_cost(graph, narrow, Optimizer::adam, 1).update_s == Approx(2 * 5e-6 + 5050 * 16 / 320e9));
  CHECK(update_s(Optimizer::adafactor) == Approx(4 * 5e-6 + 5050 * 24 / 320e9));
  CHECK(update_s(Optimizer::lamb) == Approx(4 * 5e-6 + 5050 * 52 / 320e9));
  // Each direction moves 6 more bytes per parameter: 30,300 B, 0.0947 us.
  DeviceCost casting = device();
  casting.cast_bytes_per_parameter = 6;
  const LayerCost plain = roofline_cost(graph, device(), Optimizer::adam, 1).layers[1];
  const LayerCost cast = roofline_cost(graph, casting, Optimizer::adam, 1).layers[1];
  CHECK(cast.forward_s - plain.forward_s == Approx(30300 / 320e9));
  CHECK(cast.backward_s - plain.backward_s == Approx(30300 / 320e9));
}
