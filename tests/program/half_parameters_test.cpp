// Training with weights, gradients and optimizer's state in half precision, and sums that autocast keeps in single.
#include "engine/model/zoo/zoo.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/scenario/check.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

// GPT-2's parameters on a GPU, each its own replica, or a split over two.
sim::Scenario of_gpt2(bool is_half, sim::Optimizer optimizer) {
  sim::Scenario s;
  s.model = model::zoo_graph(model::fused_attention_name("gpt2"));
  s.compute.precision = sim::Precision::mixed;
  s.compute.optimizer = optimizer;
  s.compute.half_parameters = is_half;
  s.compute.compute_efficiency = {{1, 1}};
  s.cluster.gpu.memory_bytes = 80e9;
  s.cluster.gpu.fp16_flops = 1e30;
  s.cluster.gpu.memory_bandwidth_bytes_per_s = 1;
  return s;
}

Json split_in(const std::string& precision, bool is_half) {
  Json scenario = split_scenario({{"tensor", 2}, {"micro_batches", 1}}, {4});
  scenario["compute"]["precision"] = precision;
  scenario["compute"]["half_parameters"] = is_half;
  return scenario;
}

sim::Scenario read(const Json& scenario) {
  Json cluster = switched_cluster();
  cluster["gpu"]["peak"]["bf16"] = "100 TFLOP/s";
  return SmallFiles(scenario, cluster).one();
}

double seconds_of(const sim::ModelCost& cost) {
  return cost.forward_s() + cost.backward_s();
}

}  // namespace

TEST_CASE("in half precision throughout a parameter has 2 + 2 + 2 + 2 bytes with Adam, in place of 16") {
  const auto state_bytes = [](bool is_half, sim::Optimizer optimizer) {
    const sim::Scenario s = of_gpt2(is_half, optimizer);
    const sim::GpuMemory m = sim::gpu_memory(s, 1, 1);
    return (m.weights_bytes + m.gradients_bytes + m.master_weights_bytes + m.optimizer_state_bytes) /
           double(s.model.parameter_count());
  };
  CHECK(state_bytes(false, sim::Optimizer::adam) == 16);
  CHECK(state_bytes(true, sim::Optimizer::adam) == 8);
  CHECK(state_bytes(true, sim::Optimizer::momentum) == 6);
  CHECK(state_bytes(true, sim::Optimizer::sgd) == 4);
}

TEST_CASE("a split in half precision throughout holds half of the state") {
  const auto state_bytes = [](bool is_half) {
    const sim::GpuMemory m = sim::gpu_memory(read(split_in("bf16", is_half)), 4, 1);
    return m.weights_bytes + m.gradients_bytes + m.master_weights_bytes + m.optimizer_state_bytes;
  };
  // By momentum: weights, gradients and state of 2 bytes; else gradients of 4, as they travel, and master weights.
  CHECK(state_bytes(true) / state_bytes(false) == Approx(6.0 / 14));
}

TEST_CASE("an update in half precision moves half the bytes, layers move as many") {
  const sim::ModelCost single = sim::roofline_cost(of_gpt2(false, sim::Optimizer::adam), 2),
                       half = sim::roofline_cost(of_gpt2(true, sim::Optimizer::adam), 2);
  CHECK(half.update_s == Approx(single.update_s / 2));
  CHECK(seconds_of(half) == seconds_of(single));
}

TEST_CASE("sums and norms of 4 bytes take twice as long, and nothing else does") {
  sim::Scenario s = of_gpt2(false, sim::Optimizer::adam);
  const sim::ModelCost half = sim::roofline_cost(s, 2);
  s.compute.sum_bytes = 4;
  const sim::ModelCost single = sim::roofline_cost(s, 2);
  int sums = 0;
  for (std::size_t i = 0; i < s.model.layers.size(); ++i) {
    const model::LayerKind kind = s.model.layers[i].kind;
    const bool is_sum = kind == model::LayerKind::add || kind == model::LayerKind::layer_norm;
    sums += is_sum;
    INFO(s.model.layers[i].name);
    CHECK(single.layers[i].forward_s == Approx((is_sum ? 2 : 1) * half.layers[i].forward_s));
    CHECK(single.layers[i].backward_s == Approx((is_sum ? 2 : 1) * half.layers[i].backward_s));
  }
  CHECK(sums == 12 * 4 + 1);
}

TEST_CASE("parameters in half precision are refused of layers in single, and of servers that update") {
  CHECK_THROWS_WITH(read(split_in("fp32", true)),
                    Contains("/compute/half_parameters") && Contains("layers are in fp32; allowed: mixed"));
  Json scenario = split_in("bf16", true);
  scenario.erase("parallel");
  scenario["batch_per_gpu"] = 1;
  sim::Scenario servers = read(scenario);
  servers.algorithm = Algorithm::backup_workers;
  CHECK_THROWS_WITH(sim::check(servers),
                    Contains("/compute/half_parameters: is not modelled of backup-workers; allowed: without it"));
}

}  // namespace lockstep::tests
