// Recomputation in the backward pass: more of it never takes less time and never more memory, in any split.
#include "sim/replica/recomputation.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/split_space.hpp"
#include "sim/replica/iteration.hpp"
#include "tests/catch.hpp"
#include "tests/replica/random_splits.hpp"

namespace lockstep::tests {
namespace {

using sim::Recomputation;
using sim::RecomputeModule;

double iteration_s(const sim::Scenario& scenario) {
  const int gpus = scenario.gpus.front();
  const sim::Cluster cluster(scenario.cluster, gpus);
  return sim::SplitModel(scenario, cluster, gpus).iteration(1).iteration_s;
}

double memory_bytes(const sim::Scenario& scenario) {
  return sim::gpu_memory(scenario, scenario.gpus.front(), scenario.parallel->micro_batch).total_bytes();
}

// Shares of the layers of a block by name, "attention", behind the block's own.
std::map<std::string, double> shares_of_block(const model::Graph& graph, std::size_t block,
                                              const sim::ParallelSpec& spec) {
  const sim::Block one = sim::blocks_of(graph).blocks.at(block);
  const std::vector<double> shares = sim::repeated_shares(graph, one, spec, graph.transformer->spec.hidden);
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::string& name = graph.layers.at(static_cast<std::size_t>(one.first_layer) + i).name;
    named[name.substr(name.find('/') + 1)] = shares[i];
  }
  return named;
}

}  // namespace

TEST_CASE("each part that is computed again takes time and frees memory, or does neither") {
  Draw draw(11);
  int slower = 0, smaller = 0;
  for (int i = 0; i < 60; ++i) {
    sim::Scenario scenario = random_split_scenario(draw);
    sim::ParallelSpec& spec = *scenario.parallel;
    if (spec.schedule == sim::PipelineSchedule::zb_h1) continue;
    spec.recompute = Recomputation::none;
    double before_s = iteration_s(scenario), before_bytes = memory_bytes(scenario);
    spec.recompute = Recomputation::selective;
    for (const Choice<RecomputeModule>& module : choices_of(RecomputeModule())) {
      spec.recompute_modules.insert(module.value);
      INFO(sim::split_text(spec));
      const double now_s = iteration_s(scenario), now_bytes = memory_bytes(scenario);
      CHECK(now_s >= before_s * (1 - 1e-12));
      CHECK(now_bytes <= before_bytes * (1 + 1e-12));
      slower += now_s > before_s ? 1 : 0;
      smaller += now_bytes < before_bytes ? 1 : 0;
      before_s = now_s;
      before_bytes = now_bytes;
    }
    spec.recompute = Recomputation::full;
    spec.recompute_modules.clear();
    CHECK(iteration_s(scenario) >= before_s * (1 - 1e-12));
    CHECK(memory_bytes(scenario) <= before_bytes * (1 + 1e-12));
  }
  CHECK(slower > 100);
  CHECK(smaller > 100);
}

TEST_CASE("full recomputation of the first layers of each chunk lies between none and all layers") {
  Draw draw(12);
  int between = 0;
  for (int i = 0; i < 60; ++i) {
    sim::Scenario scenario = random_split_scenario(draw);
    sim::ParallelSpec& spec = *scenario.parallel;
    INFO(sim::split_text(spec));
    spec.recompute_modules.clear();
    spec.recompute = Recomputation::none;
    const double none_s = iteration_s(scenario), none_bytes = memory_bytes(scenario);
    spec.recompute = Recomputation::full;
    const double full_s = iteration_s(scenario), full_bytes = memory_bytes(scenario);
    double before_s = none_s, before_bytes = none_bytes;
    for (int layers : {1, 2, 4}) {
      spec.recompute_layers = layers;
      const double now_s = iteration_s(scenario), now_bytes = memory_bytes(scenario);
      // A split backward pass hides recomputation in the pipeline's idle times.
      if (!spec.splits_backward()) CHECK(now_s >= before_s * (1 - 1e-12));
      CHECK(now_bytes <= before_bytes * (1 + 1e-12));
      between += now_s > none_s && now_s < full_s && now_bytes > full_bytes ? 1 : 0;
      before_s = now_s;
      before_bytes = now_bytes;
    }
    spec.recompute_layers = 4096;
    CHECK(iteration_s(scenario) == Approx(full_s).epsilon(1e-12));
    CHECK(memory_bytes(scenario) == Approx(full_bytes).epsilon(1e-12));
  }
  CHECK(between > 20);
}

TEST_CASE("DeepSeek-V3's norms, activations and up-projections are the layers that its report names") {
  const model::Graph graph = model::zoo_graph("deepseek_v3");
  sim::ParallelSpec spec;
  spec.recompute = Recomputation::selective;
  spec.recompute_modules = {RecomputeModule::layer_norm, RecomputeModule::activation, RecomputeModule::latent_up};
  const std::map<std::string, double> dense = shares_of_block(graph, 0, spec);
  for (const char* again : {"norm1", "norm2", "q", "q/rotary", "k", "v", "k/join", "active", "gated"}) {
    INFO(again);
    CHECK(dense.at(again) == 1);
  }
  for (const char* once : {"q_down", "kv_down", "q_down/norm", "attention", "out", "up", "gate", "down", "add1"}) {
    INFO(once);
    CHECK(dense.at(once) == 0);
  }
  spec.recompute_modules = {RecomputeModule::mlp};
  CHECK(shares_of_block(graph, 0, spec).at("down") == 1);
  CHECK(shares_of_block(graph, 0, spec).at("out") == 0);
  spec.recompute_modules = {RecomputeModule::moe};
  double repeated = 0;
  for (const auto& [name, share] : shares_of_block(graph, 10, spec)) repeated += share;
  CHECK(repeated == 2);  // the router and the experts
}

}  // namespace lockstep::tests
