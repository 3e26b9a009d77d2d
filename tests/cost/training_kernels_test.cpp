// Layers of transformers by measured laws: the kernels of each layer, by hand with laws of only bytes or only FLOP.
#include "sim/cost/training_kernels.hpp"

#include <cmath>

#include "engine/model/zoo/zoo.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/cost/token_cost.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

KernelLaw law_named(const std::string& name, double start_s, double compute_share, double sharpness = 1) {
  KernelLaw law;
  law.name = name;
  law.roofline = RooflineTerms{start_s, compute_share, 1e6, sharpness, 1e6};  // bytes cost nothing
  return law;
}

// 1 TFLOP/s in half precision, 2 in eight bits, 4 in four. GEMMs reach all of it, attention half, experts a quarter.
std::shared_ptr<const TrainingKernels> kernels_in(KernelPrecision precision, double speed = 1, double start_s = 0,
                                                  double speed_in_half = 1, double sharpness = 1) {
  auto file = std::make_shared<KernelLawFile>();
  file->gpu = "test";
  for (KernelPrecision each : {KernelPrecision::bf16, KernelPrecision::fp8, KernelPrecision::nvfp4}) {
    file->laws.push_back(law_named(kernel_law_name(KernelKind::gemm, "", each), start_s, 1, sharpness));
    file->laws.push_back(law_named(kernel_law_name(KernelKind::experts, "", each), start_s, 0.25));
  }
  file->laws.push_back(law_named("attention/encoder/bf16", start_s, 0.5));
  auto laws = std::make_shared<KernelLaws>();
  laws->add(file, Carried::no);
  KernelPeaks peaks;
  peaks.half_flops = 1e12;
  peaks.fp8_flops = 2e12;
  peaks.fp4_flops = 4e12;
  peaks.memory_bytes_per_s = 1e12;
  return std::make_shared<const TrainingKernels>(laws, peaks, precision, KernelSpeeds{speed, speed_in_half});
}

DeviceCost device_with(std::shared_ptr<const TrainingKernels> kernels) {
  DeviceCost device;
  device.peak_flops = 1;  // the roofline would take extremely long
  device.memory_bandwidth_bytes_per_s = 1e30;
  device.activation_bytes = 2;
  device.kernels = std::move(kernels);
  return device;
}

}  // namespace

TEST_CASE("a linear layer is a GEMM forward and two backward") {
  model::GraphBuilder net("l", "l", {1, 128, 1});
  const int words = net.embedding("words", 0, 10, 256);
  const int inner = net.linear("inner", words, 512);
  net.softmax("loss", net.linear("scores", inner, 10));
  const model::Graph graph = net.finish();
  const ModelCost cost = roofline_cost(graph, device_with(kernels_in(KernelPrecision::bf16)), Optimizer::sgd, 4);
  const double once_s = 2. * 4 * 128 * 256 * 512 / 1e12;
  CHECK(cost.layers[2].forward_s == Approx(once_s).epsilon(1e-6));
  CHECK(cost.layers[2].backward_s == Approx(2 * once_s).epsilon(1e-6));
  // At speed 0.8 every kernel takes 1 / 0.8 of its time.
  const ModelCost slower = roofline_cost(graph, device_with(kernels_in(KernelPrecision::bf16, 0.8)), Optimizer::sgd, 4);
  CHECK(slower.layers[2].forward_s == Approx(once_s / 0.8).epsilon(1e-6));
  // Each kernel adds its start-up time: one kernel forward, two backward.
  const ModelCost late =
      roofline_cost(graph, device_with(kernels_in(KernelPrecision::bf16, 1, 1e-3)), Optimizer::sgd, 4);
  CHECK(late.layers[2].forward_s == Approx(once_s + 1e-3).epsilon(1e-6));
  CHECK(late.layers[2].backward_s == Approx(2 * once_s + 2e-3).epsilon(1e-6));
}

TEST_CASE("a GEMM adds to a sum of gradients while it computes: its law has both times") {
  model::GraphBuilder net("l", "l", {1, 128, 1});
  const int words = net.embedding("words", 0, 10, 256);
  net.softmax("loss", net.linear("scores", net.linear("inner", words, 512), 10));
  const model::Graph graph = net.finish();
  const double once_s = 2. * 4 * 128 * 256 * 512 / 1e12;
  for (const double sharpness : {1., 2., 8.}) {
    DeviceCost device = device_with(kernels_in(KernelPrecision::bf16, 1, 0, 1, sharpness));
    for (const double share : {0., 0.1, 1., 3.}) {  // the traffic's share of the arithmetic's time, at 1e18 bytes/s
      device.fused_sum_bytes_per_parameter =
          share * once_s * 1e18 / static_cast<double>(graph.layers[2].parameter_count());
      const LayerCost cost = roofline_cost(graph, device, Optimizer::sgd, 4).layers[2];
      CHECK(cost.forward_s == Approx(once_s).epsilon(1e-6));
      const double of_sum = std::pow(1 + std::pow(share, sharpness), 1 / sharpness);
      CHECK(cost.backward_s == Approx((1 + of_sum) * once_s).epsilon(1e-6));
    }
  }
}

TEST_CASE("in eight and four bits the last layer stays in half precision") {
  model::GraphBuilder net("l", "l", {1, 128, 1});
  const int words = net.embedding("words", 0, 10, 256);
  const int inner = net.linear("inner", words, 512);
  net.softmax("loss", net.linear("scores", inner, 16));
  const model::Graph graph = net.finish();
  const double once_s = 2. * 128 * 256 * 512 / 1e12, last_s = 2. * 128 * 512 * 16 / 1e12;
  const ModelCost eight = roofline_cost(graph, device_with(kernels_in(KernelPrecision::fp8)), Optimizer::sgd, 1);
  CHECK(eight.layers[2].forward_s == Approx(once_s / 2).epsilon(1e-4));
  CHECK(eight.layers[3].forward_s == Approx(last_s).epsilon(1e-4));
  const ModelCost four = roofline_cost(graph, device_with(kernels_in(KernelPrecision::nvfp4)), Optimizer::sgd, 1);
  CHECK(four.layers[2].forward_s == Approx(once_s / 4).epsilon(1e-4));
}

TEST_CASE("attention: FLOP of its pairs forward, 2.5 times as many backward at three quarters of the rate") {
  model::AttentionShape shape;
  shape.heads = shape.kv_heads = 4;
  shape.head_dim = shape.value_dim = 64;
  shape.causal = shape.fused = true;
  shape.keys = 1024;
  const std::shared_ptr<const TrainingKernels> kernels = kernels_in(KernelPrecision::bf16);
  // The causal mask leaves 36 of 8 x 8 tiles.
  const double whole_s = 4. * 2 * 4 * 64 * 1024 * 1024 * (36. / 64) / 0.5e12;
  CHECK(kernels->attention_s(shape, 1024, 2) == Approx(whole_s).epsilon(2e-3));
  // The last half of the queries: 26 tiles.
  CHECK(kernels->attention_s(shape, 512, 2) == Approx(26. / 36 * whole_s).epsilon(2e-3));
  shape.causal = false;
  CHECK(kernels->attention_s(shape, 1024, 2) == Approx(64. / 36 * whole_s).epsilon(2e-3));
  shape.causal = true;
  model::GraphBuilder net("a", "a", {1, 1024, 1});
  const int q = net.embedding("words", 0, 10, 256);
  const int k = net.linear("k", q, 256), v = net.linear("v", q, 256);
  net.softmax("loss", net.attention("attention", {q, k, v}, shape));
  for (const model::Layer& layer : net.finish().layers) {
    if (layer.kind != model::LayerKind::attention) continue;
    const LayerCost cost = token_cost(layer, device_with(kernels), 2, true);
    CHECK(cost.forward_s == Approx(whole_s).epsilon(2e-3));
    CHECK(cost.backward_s == Approx(2.5 / 0.75 * cost.forward_s).epsilon(1e-6));
  }
}

TEST_CASE("a speed of 16 bits scales attention, routers' and output matrices, one of 8 bits the others") {
  const GemmShape matrix{1024, 512, 256};
  model::AttentionShape shape;
  shape.heads = shape.kv_heads = 4;
  shape.head_dim = shape.value_dim = 64;
  shape.keys = 1024;
  const auto plain = kernels_in(KernelPrecision::fp8), slow_half = kernels_in(KernelPrecision::fp8, 1, 0, 0.5),
             slow_eight = kernels_in(KernelPrecision::fp8, 0.5, 0, 1);
  CHECK(slow_half->attention_s(shape, 1024, 2) == Approx(2 * plain->attention_s(shape, 1024, 2)));
  CHECK(slow_half->product_s(matrix, true) == Approx(2 * plain->product_s(matrix, true)));
  CHECK(slow_half->product_s(matrix, false) == plain->product_s(matrix, false));
  CHECK(slow_eight->attention_s(shape, 1024, 2) == plain->attention_s(shape, 1024, 2));
  CHECK(slow_eight->product_s(matrix, true) == plain->product_s(matrix, true));
  CHECK(slow_eight->product_s(matrix, false) == Approx(2 * plain->product_s(matrix, false)));
}

TEST_CASE("experts: three matrices on every row forward, twice that backward") {
  model::GraphBuilder net("e", "e", {1, 64, 1});
  const int words = net.embedding("words", 0, 10, 128);
  const int router = net.router("router", words, 8, 2);
  net.softmax("loss", net.experts("experts", {words, router}, 256));
  for (const model::Layer& layer : net.finish().layers) {
    if (layer.kind != model::LayerKind::experts) continue;
    DeviceCost device = device_with(kernels_in(KernelPrecision::bf16));
    const double once_s = 2. * (64 * 2) * 128 * 256 * 3 / 0.25e12;
    CHECK(token_cost(layer, device, 1, true).forward_s == Approx(once_s).epsilon(1e-4));
    CHECK(token_cost(layer, device, 1, true).backward_s == Approx(2 * once_s).epsilon(1e-4));
    device.expert_efficiency = 0.5;
    CHECK(token_cost(layer, device, 1, true).forward_s == Approx(2 * once_s).epsilon(1e-4));
  }
}
