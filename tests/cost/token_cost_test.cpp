// Attention and experts as kernels of the roofline: by hand, and the gain from fusing.
#include "sim/cost/token_cost.hpp"

#include <algorithm>

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// Devices with 1 TFLOP/s or 1 GB/s and no other limit: seconds are FLOP or bytes.
DeviceCost only_flop() {
  DeviceCost d;
  d.peak_flops = 1;
  d.memory_bandwidth_bytes_per_s = 1e30;
  d.activation_bytes = 2;
  return d;
}

DeviceCost only_bytes() {
  DeviceCost d;
  d.peak_flops = 1e30;
  d.memory_bandwidth_bytes_per_s = 1;
  d.activation_bytes = 2;
  return d;
}

model::Graph attention_graph(int heads, int kv_heads, int dim, int tokens, bool causal, bool fused) {
  model::GraphBuilder net("a", "a", {1, tokens, 1});
  const int words = net.embedding("words", 0, 10, heads * dim);
  const int k = net.linear("k", words, kv_heads * dim), v = net.linear("v", words, kv_heads * dim);
  model::AttentionShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.head_dim = shape.value_dim = dim;
  shape.causal = causal;
  shape.fused = fused;
  net.softmax("loss", net.attention("attention", {words, k, v}, shape));
  return net.finish();
}

LayerCost cost_of(const model::Graph& graph, model::LayerKind kind, const DeviceCost& device, int batch) {
  for (const model::Layer& layer : graph.layers)
    if (layer.kind == kind) return token_cost(layer, device, batch, true);
  throw std::runtime_error("no such layer");
}

// 8 tokens of 16 features use 2 of 4 gated experts of width 32: 16 rows.
model::Graph experts_graph() {
  model::GraphBuilder net("e", "e", {1, 8, 1});
  const int words = net.embedding("words", 0, 10, 16);
  const int router = net.router("router", words, 4, 2);
  net.softmax("loss", net.experts("experts", {words, router}, 32));
  return net.finish();
}

}  // namespace

TEST_CASE("fused attention by hand") {
  // 4 query heads of 8 features share 2 heads of keys and values; 16 tokens, batch 3. There are 3 x 4 x 16^2 pairs,
  // with 2 FLOP per feature of keys and of values. Backward has five products instead of two.
  const model::Graph all = attention_graph(4, 2, 8, 16, false, true);
  const double pairs = 3 * 4 * 16 * 16;
  const LayerCost flop = cost_of(all, model::LayerKind::attention, only_flop(), 3);
  CHECK(flop.forward_s == Approx(2 * pairs * 16));
  CHECK(flop.backward_s == Approx(2.5 * 2 * pairs * 16));
  // q and o have 3 x 16 x 32 elements, k and v 3 x 16 x 16. Backward reads the same again, and writes their gradients.
  const LayerCost bytes = cost_of(all, model::LayerKind::attention, only_bytes(), 3);
  CHECK(bytes.forward_s == Approx(2 * (2 * 3 * 16 * 32 + 2 * 3 * 16 * 16)));
  CHECK(bytes.backward_s == Approx(2 * bytes.forward_s));
  // A causal mask hides all but n (n + 1) / 2 pairs. The kernel skips hidden ones.
  const LayerCost causal =
      cost_of(attention_graph(4, 2, 8, 16, true, true), model::LayerKind::attention, only_flop(), 3);
  CHECK(causal.forward_s == Approx(flop.forward_s * 17 / 32));
}

TEST_CASE("attention in passes does all products, and moves its scores") {
  const model::Graph fused = attention_graph(4, 4, 64, 512, true, true);
  const model::Graph passes = attention_graph(4, 4, 64, 512, true, false);
  const LayerCost flop = cost_of(passes, model::LayerKind::attention, only_flop(), 1);
  CHECK(flop.forward_s == Approx(2. * 4 * 512 * 512 * 128));
  CHECK(flop.backward_s == Approx(2 * flop.forward_s));
  const LayerCost bytes = cost_of(passes, model::LayerKind::attention, only_bytes(), 1);
  const double scores = 4. * 512 * 512, one = 512. * 256;
  // Copies of q, k, v and o; the scores are written, masked, normalised and read again: 1 + 2 + 3 + 1 passes.
  CHECK(bytes.forward_s == Approx(2 * (2 * 3 * one + (2 * one + scores) + 5 * scores + (scores + 2 * one) + 2 * one)));
  CHECK(bytes.forward_s > 4 * cost_of(fused, model::LayerKind::attention, only_bytes(), 1).forward_s);
}

TEST_CASE("fused attention reaches its share of what products do, and attention in passes all of it") {
  DeviceCost device = only_flop();
  const model::Graph fused = attention_graph(4, 2, 8, 16, false, true),
                     passes = attention_graph(4, 2, 8, 16, false, false);
  const LayerCost before = cost_of(fused, model::LayerKind::attention, device, 3);
  const LayerCost in_passes = cost_of(passes, model::LayerKind::attention, device, 3);
  device.attention_efficiency = 0.5;
  CHECK(cost_of(fused, model::LayerKind::attention, device, 3).forward_s == Approx(2 * before.forward_s));
  CHECK(cost_of(fused, model::LayerKind::attention, device, 3).backward_s == Approx(2 * before.backward_s));
  CHECK(cost_of(passes, model::LayerKind::attention, device, 3).forward_s == Approx(in_passes.forward_s));
  DeviceCost memory = only_bytes();
  const double bytes_s = cost_of(fused, model::LayerKind::attention, memory, 3).forward_s;
  memory.attention_efficiency = 0.5;
  CHECK(cost_of(fused, model::LayerKind::attention, memory, 3).forward_s == Approx(bytes_s));
}

TEST_CASE("experts' kernels, copies by row among them, take as much longer as they are less efficient") {
  const model::Graph graph = experts_graph();
  const auto is_experts = [](const model::Layer& layer) { return layer.kind == model::LayerKind::experts; };
  const model::Layer& routed = *std::find_if(graph.layers.begin(), graph.layers.end(), is_experts);
  for (DeviceCost device : {only_flop(), only_bytes()}) {
    const LayerCost experts = cost_of(graph, model::LayerKind::experts, device, 1);
    const LayerCost others = cost_of(graph, model::LayerKind::router, device, 1);
    const LayerCost rows = row_order_cost(routed, device, 1, 1);
    device.expert_efficiency = 0.5;
    CHECK(cost_of(graph, model::LayerKind::experts, device, 1).forward_s == Approx(2 * experts.forward_s));
    CHECK(cost_of(graph, model::LayerKind::experts, device, 1).backward_s == Approx(2 * experts.backward_s));
    CHECK(cost_of(graph, model::LayerKind::router, device, 1).forward_s == Approx(others.forward_s));
    CHECK(row_order_cost(routed, device, 1, 1).forward_s == Approx(2 * rows.forward_s));
  }
}

TEST_CASE("experts by hand") {
  const model::Graph graph = experts_graph();
  const LayerCost flop = cost_of(graph, model::LayerKind::experts, only_flop(), 1);
  CHECK(flop.forward_s == Approx(2. * 16 * 16 * 32 * 3));
  CHECK(flop.backward_s == Approx(2 * flop.forward_s));
  const LayerCost bytes = cost_of(graph, model::LayerKind::experts, only_bytes(), 1);
  const double tokens = 8 * 16, rows = 16 * 16, inner = 16 * 32, weights = 4 * 16 * 32;
  CHECK(bytes.forward_s == Approx(2 * ((tokens + rows) + (rows + 2 * inner + 2 * weights) + 3 * inner +
                                       (inner + rows + weights) + (rows + tokens))));
  const KernelCounts kernels = token_kernels(graph.layers[3], only_bytes());
  CHECK(kernels.forward == 5);
  CHECK(kernels.backward == 7);
}

TEST_CASE("rows of several ranks are ordered by expert and back; in eight bits experts' operands are made") {
  model::GraphBuilder net("e", "e", {1, 8, 1});
  const int words = net.embedding("words", 0, 10, 16);
  net.softmax("loss", net.experts("experts", {words, net.router("router", words, 4, 2)}, 32));
  const model::Graph graph = net.finish();
  const model::Layer& experts = graph.layers[3];
  const double rows = 16 * 16, inner = 16 * 32;  // elements, as above; 2 bytes each
  const LayerCost order = row_order_cost(experts, only_bytes(), 1, 1);
  CHECK(order.forward_s == Approx(2 * 2 * rows * 2));  // there and back, read and written
  CHECK(order.backward_s == order.forward_s);
  CHECK(row_order_cost(experts, only_bytes(), 1, 1.5).forward_s == Approx(1.5 * order.forward_s));
  DeviceCost eight = only_bytes();
  eight.half_peak_flops = eight.peak_flops;
  eight.operand_copy_bytes = 4;
  const LayerCost with = token_cost(experts, eight, 1, true), without = token_cost(experts, only_bytes(), 1, true);
  CHECK(with.forward_s - without.forward_s == Approx(4 * (rows + inner)));        // x, and what the second one takes
  CHECK(with.backward_s - without.backward_s == Approx(4 * (rows + 2 * inner)));  // gradients of both outputs
}

TEST_CASE("twice the experts at work take about twice the products, the weights of all are read once") {
  const model::Graph graph = model::zoo_graph("mixtral_8x7b@512");
  const LayerCost one = cost_of(graph, model::LayerKind::experts, only_flop(), 1);
  model::Graph more = graph;
  for (model::Layer& layer : more.layers.edit()) layer.experts.active = 4;
  CHECK(cost_of(more, model::LayerKind::experts, only_flop(), 1).forward_s == Approx(2 * one.forward_s));
  const double small = cost_of(graph, model::LayerKind::experts, only_bytes(), 1).forward_s;
  CHECK(small > 2. * 8 * 3 * 4096 * 14336);
  CHECK(cost_of(graph, model::LayerKind::experts, only_bytes(), 2).forward_s < 2 * small);
}

TEST_CASE("eight bits halve the products with weights, and neither attention nor the layer of the vocabulary") {
  DeviceCost half = only_flop(), eight = only_flop();
  half.peak_flops = eight.half_peak_flops = 1e15;
  eight.peak_flops = 2e15;
  const model::Graph graph = model::zoo_graph("llama3_8b");
  const ModelCost in_half = roofline_cost(graph, half, Optimizer::adam, 1);
  const ModelCost in_eight = roofline_cost(graph, eight, Optimizer::adam, 1);
  double products = 0, rest = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const bool is_product = graph.layers[i].kind == model::LayerKind::linear && graph.layers[i].name != "output";
    const double before = in_half.layers[i].forward_s + in_half.layers[i].backward_s;
    const double after = in_eight.layers[i].forward_s + in_eight.layers[i].backward_s;
    CHECK(after == Approx(is_product ? before / 2 : before).margin(1e-15));
    (is_product ? products : rest) += before;
  }
  CHECK(products > 3 * rest);
}

TEST_CASE("eight bits cost their copies where memory is slow") {
  DeviceCost device = only_bytes(), half = only_bytes();
  device.memory_bandwidth_bytes_per_s = half.memory_bandwidth_bytes_per_s = 1e12;
  device.half_peak_flops = device.peak_flops;
  device.operand_copy_bytes = 4;
  const model::Graph graph = model::zoo_graph("llama3_8b");
  const ModelCost with = roofline_cost(graph, device, Optimizer::adam, 1);
  const ModelCost without = roofline_cost(graph, half, Optimizer::adam, 1);
  double bytes = 0;  // x forward and dy backward: read in two, written in one, and once more
  for (const model::Layer& layer : graph.layers)
    if (layer.kind == model::LayerKind::linear && layer.name != "output")
      bytes += 4. * static_cast<double>(layer.input_elements + layer.out.elements());
  CHECK(with.iteration_s() - without.iteration_s() == Approx(bytes / 1e12));
}

TEST_CASE("a pass lasts as long as its kernels or as their enqueueing") {
  DeviceCost device;
  device.peak_flops = 1e15;
  device.memory_bandwidth_bytes_per_s = 1e12;
  device.activation_bytes = 2;
  const model::Graph graph = model::zoo_graph("gpt2");
  const double alone = roofline_cost(graph, device, Optimizer::adam, 1).forward_s();
  device.host_launch_s = 1e-9;
  CHECK(roofline_cost(graph, device, Optimizer::adam, 1).forward_s() == alone);
  device.host_launch_s = 1;
  const ModelCost bound = roofline_cost(graph, device, Optimizer::adam, 1);
  // Twelve layers of 2 norms, attention with its products, 2 sums, and the MLP; each kernel takes a second.
  CHECK(bound.forward_s() == Approx(std::round(bound.forward_s())));
  CHECK(bound.forward_s() > 12 * 10);
  CHECK(bound.backward_s() > bound.forward_s());
  CHECK(roofline_cost(graph, device, Optimizer::adam, 64).forward_s() >= bound.forward_s());
}

TEST_CASE("a softmax in single precision stands between two copies, and scale and mask are kernels of their own") {
  const model::Graph graph = attention_graph(4, 2, 8, 16, false, false);
  DeviceCost device = only_bytes();
  const LayerCost half = cost_of(graph, model::LayerKind::attention, device, 3);
  device.softmax_bytes = 4;
  const LayerCost single = cost_of(graph, model::LayerKind::attention, device, 3);
  const model::Layer& attention =
      *std::find_if(graph.layers.begin(), graph.layers.end(),
                    [](const model::Layer& layer) { return layer.kind == model::LayerKind::attention; });
  const double scores = 3. * 4 * attention.in.height * attention.attention.keys;
  // Forward, 2 + 3 passes of two bytes become two of them, copies of 2 + 4, and one over four bytes and back. Backward,
  // the softmax also reads its gradient.
  CHECK(single.forward_s - half.forward_s == Approx(scores * (2 * 4 + 2 * 6 + 8 - 5 * 2)));
  CHECK(single.backward_s - half.backward_s == Approx(scores * (2 * 4 + 2 * 6 + 12 - 5 * 2)));
  const model::Graph fused = attention_graph(4, 2, 8, 16, false, true);
  CHECK(cost_of(fused, model::LayerKind::attention, device, 3).forward_s ==
        Approx(cost_of(fused, model::LayerKind::attention, only_bytes(), 3).forward_s));
}

TEST_CASE(
    "RMS norms and rotary positions in steps move their bytes for each element, and a quarter of an operation a step") {
  DeviceCost device;
  device.peak_flops = 1e30;
  device.memory_bandwidth_bytes_per_s = 1;
  device.activation_bytes = 2;
  const model::Graph graph = model::zoo_graph("llama3_2_1b");
  const auto sum_of = [&](const DeviceCost& of, model::LayerKind kind) {
    const ModelCost cost = roofline_cost(graph, of, Optimizer::adam, 3);
    double sum = 0;
    for (std::size_t i = 0; i < graph.layers.size(); ++i)
      if (graph.layers[i].kind == kind) sum += cost.layers[i].forward_s + cost.layers[i].backward_s;
    return sum;
  };
  DeviceCost in_steps = device;
  in_steps.rms_norm_bytes = 145;
  in_steps.rotary_bytes = 98;
  // Two norms per layer and one after the last; 32 heads of queries and 8 of keys are rotated. A norm in two kernels
  // reads and writes three times forward and five times backward.
  const double tokens = 3. * graph.tokens, normed = (2 * 16 + 1) * 2048 * tokens, turned = 16 * (2048 + 512) * tokens;
  CHECK(sum_of(device, model::LayerKind::rms_norm) == Approx(8 * 2 * normed));
  CHECK(sum_of(in_steps, model::LayerKind::rms_norm) == Approx(145 * normed));
  CHECK(sum_of(in_steps, model::LayerKind::rotary) == Approx(98 * turned));
  CHECK(sum_of(in_steps, model::LayerKind::silu) == sum_of(device, model::LayerKind::silu));

  // If the processor is slower than the GPU, only its operations count. A step is a quarter of one: 2 and 4 for a
  // norm's one, 1.25 and 2.5 for a rotation's.
  device.memory_bandwidth_bytes_per_s = in_steps.memory_bandwidth_bytes_per_s = 1e30;
  device.host_launch_s = in_steps.host_launch_s = 1;
  const ModelCost once = roofline_cost(graph, device, Optimizer::adam, 1);
  const ModelCost steps = roofline_cost(graph, in_steps, Optimizer::adam, 1);
  CHECK(steps.forward_s() - once.forward_s() == Approx(33 * 1 + 32 * 0.25));
  CHECK(steps.backward_s() - once.backward_s() == Approx(33 * 3 + 32 * 1.5));
}
