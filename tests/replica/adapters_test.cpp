// Adapters together with frozen weights.
#include "sim/replica/adapters.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/program/split_job.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/split/stages.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

// Returns the times block by block.
sim::RankSeconds seconds_of_rank(const Json& parallel) {
  const sim::Scenario scenario = split_of(parallel, 4);
  return sim::rank_seconds(scenario, sim::split_job(scenario, 4));
}

}  // namespace

TEST_CASE("an adapter is two matrices and a sum, beside the attention's inputs and beside its output") {
  const sim::Scenario scenario = split_of(Json{{"micro_batches", 1}, {"lora_rank", 8}}, 4);
  const model::Graph& graph = scenario.model;
  const model::Graph adapted = sim::with_adapters(graph, 8, sim::LoraTarget::attention);
  std::size_t found = 0;
  double macs = 0, parameters = 0;
  for (const model::Layer& layer : adapted.layers) {
    if (!sim::is_of_adapter(layer)) {
      CHECK(layer.name == graph.layers[found++].name);
      continue;
    }
    macs += static_cast<double>(layer.macs);
    parameters += static_cast<double>(layer.parameter_count());
  }
  CHECK(found == graph.layers.size());
  CHECK(adapted.layers.size() == graph.layers.size() + 8 * 2 * 3);
  // r (h + 3 h) and r (h + h) weights per block, each used for every one of 256 tokens.
  CHECK(parameters == 8 * 8 * (4 * 512 + 2 * 512));
  CHECK(macs == 256 * parameters);
  const sim::SplitJob job = sim::split_job(scenario, 4);
  CHECK(parameters == sim::trained_parameters(job.shape, job.spec, job.parts.front()).total());
  // Every layer is still of its block.
  const sim::ModelBlocks before = sim::blocks_of(graph), after = sim::blocks_of(adapted);
  REQUIRE(after.blocks.size() == before.blocks.size());
  for (std::size_t i = 0; i < after.blocks.size(); ++i) {
    CHECK(after.blocks[i].name == before.blocks[i].name);
    CHECK(after.blocks[i].last_layer - after.blocks[i].first_layer ==
          before.blocks[i].last_layer - before.blocks[i].first_layer + 6);
  }
}

TEST_CASE("adapters of all matrices: four beside a dense network, none beside experts") {
  const Json all{{"micro_batches", 1}, {"lora_rank", 8}, {"lora_target", "all"}};
  const sim::Scenario scenario = split_of(all, 4);
  const model::Graph adapted = sim::with_adapters(scenario.model, 8, sim::LoraTarget::all);
  double parameters = 0;
  for (const model::Layer& layer : adapted.layers)
    if (sim::is_of_adapter(layer)) parameters += static_cast<double>(layer.parameter_count());
  // Those of the attention; then r (h + 2 i) and r (i + h), with inner width i = 2,048.
  CHECK(parameters == 8 * 8 * (4 * 512 + 2 * 512 + 512 + 2 * 2048 + 2048 + 512));
  CHECK(adapted.layers.size() == scenario.model.layers.size() + 8 * 4 * 3);
  const sim::SplitJob job = sim::split_job(scenario, 4);
  CHECK(parameters == sim::trained_parameters(job.shape, job.spec, job.parts.front()).total());
  const sim::RankSeconds few = seconds_of_rank(Json{{"micro_batches", 1}, {"lora_rank", 8}}),
                         more = seconds_of_rank(all);
  CHECK(more.blocks[0].forward_s > few.blocks[0].forward_s);
  CHECK(more.blocks[0].weight_gradient_s > few.blocks[0].weight_gradient_s);

  Json mixture = split_scenario(all, {4});
  mixture["model"] = small_mixture();
  const sim::Scenario experts = SmallFiles(mixture, switched_cluster()).one();
  CHECK(sim::with_adapters(experts.model, 8, sim::LoraTarget::all).layers.size() ==
        sim::with_adapters(experts.model, 8, sim::LoraTarget::attention).layers.size());
}

TEST_CASE("the adapters of a network's layers have the trained parameters of its shape, for every kind of layer") {
  for (const char* name :
       {"llama2_7b", "gpt_j_6b", "falcon_40b", "deepseek_v3", "nemotron_h_8b", "jamba_52b", "qwen3_next_80b"})
    for (const char* target : {"attention", "all"}) {
      INFO(name << ", " << target);
      Json of_model = split_scenario(Json{{"micro_batches", 1}, {"lora_rank", 8}, {"lora_target", target}}, {1});
      of_model["model"] = model::fused_attention_name(std::string(name) + "@512");
      const sim::Scenario scenario = SmallFiles(of_model, switched_cluster()).one();
      const sim::ParallelSpec& spec = *scenario.parallel;
      double parameters = 0;
      for (const model::Layer& layer : sim::with_adapters(scenario.model, 8, spec.lora_target).layers)
        if (sim::is_of_adapter(layer)) parameters += static_cast<double>(layer.parameter_count());
      const sim::SplitJob job = sim::split_job(scenario, 1);
      CHECK(parameters == Approx(sim::trained_parameters(job.shape, job.spec, job.parts.front()).total()));
    }
}

TEST_CASE("AutoGPTQ makes a matrix whole in five kernels, in the forward pass and where it is repeated") {
  Json plain{{"micro_batches", 1}, {"lora_rank", 8}}, repeated = plain;
  repeated["recompute"] = "full";
  Json gptq = plain, repeated_gptq = repeated;
  gptq["frozen_weights"] = repeated_gptq["frozen_weights"] = "gptq";
  const sim::Scenario scenario = split_of(plain, 4);
  const auto device = sim::describe_device(scenario);
  const sim::Block first = sim::blocks_of(scenario.model).blocks.front();
  double pass_s = 0;
  for (int i = first.first_layer; i <= first.last_layer; ++i)
    if (const model::Layer& layer = scenario.model.layers[static_cast<std::size_t>(i)];
        layer.kind == model::LayerKind::linear)
      pass_s += 5 * device.launch_s + 16.5 * static_cast<double>(layer.parameter_count()) /
                                          (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  const sim::BlockSeconds before = seconds_of_rank(plain).blocks[0], after = seconds_of_rank(gptq).blocks[0];
  CHECK(after.forward_s - before.forward_s == Approx(pass_s).epsilon(1e-6));
  CHECK(after.backward_s == Approx(before.backward_s).epsilon(1e-9));
  CHECK(seconds_of_rank(repeated_gptq).blocks[0].backward_s - seconds_of_rank(repeated).blocks[0].backward_s ==
        Approx(pass_s).epsilon(1e-6));
}

TEST_CASE("adapters cost their passes over what goes in and out, and their gradients are computed") {
  const sim::RankSeconds plain = seconds_of_rank(Json{{"micro_batches", 1}});
  const sim::RankSeconds small = seconds_of_rank(Json{{"micro_batches", 1}, {"lora_rank", 1}});
  const sim::RankSeconds large = seconds_of_rank(Json{{"micro_batches", 1}, {"lora_rank", 512}});
  for (std::size_t i = 0; i < plain.blocks.size(); ++i) {
    CHECK(small.blocks[i].forward_s > plain.blocks[i].forward_s);
    CHECK(small.blocks[i].backward_s < plain.blocks[i].backward_s);
    CHECK(large.blocks[i].forward_s > small.blocks[i].forward_s);
    // Frozen matrices have no gradient. The adapters' takes at least a pass over their inputs and outputs.
    CHECK(small.blocks[i].weight_gradient_s < 0.11 * plain.blocks[i].weight_gradient_s);
    CHECK(large.blocks[i].weight_gradient_s > 3 * small.blocks[i].weight_gradient_s);
  }
}

TEST_CASE(
    "quantised frozen matrices are read and written in half precision in every pass, again where it is recomputed") {
  const Json adapters{{"micro_batches", 1}, {"lora_rank", 8}};
  Json nf4 = adapters, repeated = adapters, repeated_nf4 = adapters;
  nf4["frozen_weights"] = repeated_nf4["frozen_weights"] = "nf4";
  repeated["recompute"] = repeated_nf4["recompute"] = "full";
  const sim::Scenario scenario = split_of(adapters, 4);
  const auto device = sim::describe_device(scenario);
  const sim::Block first = sim::blocks_of(scenario.model).blocks.front();
  double pass_s = 0;
  for (int i = first.first_layer; i <= first.last_layer; ++i) {
    const model::Layer& layer = scenario.model.layers[static_cast<std::size_t>(i)];
    if (layer.kind == model::LayerKind::linear)
      pass_s += device.launch_s + (0.515869140625 + 2) * static_cast<double>(layer.parameter_count()) /
                                      (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  }
  const sim::BlockSeconds plain = seconds_of_rank(adapters).blocks[0], quantised = seconds_of_rank(nf4).blocks[0];
  CHECK(quantised.forward_s - plain.forward_s == Approx(pass_s).epsilon(1e-6));
  CHECK(quantised.backward_s - plain.backward_s == Approx(pass_s).epsilon(1e-6));
  CHECK(seconds_of_rank(repeated_nf4).blocks[0].backward_s - seconds_of_rank(repeated).blocks[0].backward_s ==
        Approx(2 * pass_s).epsilon(1e-6));
}
