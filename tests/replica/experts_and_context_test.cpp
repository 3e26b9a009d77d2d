// Experts with uneven load, ways to exchange keys and values, and nodes of 72 GPUs.
#include "sim/point/best_splits.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

Json of_experts(const Json& parallel, int gpus) {
  Json scenario = split_scenario(parallel, {gpus});
  scenario["model"]["config"] = Json::parse(R"({"model_type": "mixtral", "hidden_act": "silu", "hidden_size": 512,
    "intermediate_size": 2048, "max_position_embeddings": 4096, "num_attention_heads": 8, "num_hidden_layers": 8,
    "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 16,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "rope_theta": 1e6})");
  scenario["fidelity"] = "analytic";
  return scenario;
}

double seconds_of(const Json& scenario, const Json& cluster = switched_cluster()) {
  return predicted(SmallFiles(scenario, cluster).one()).mean_iteration_s();
}

double expert_seconds(const Json& more) {
  Json parallel{{"expert", 4}, {"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  parallel.update(more);
  return seconds_of(of_experts(parallel, 8));
}

double expert_memory(const Json& more) {
  Json parallel{{"expert", 4}, {"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  parallel.update(more);
  const sim::Scenario scenario = SmallFiles(of_experts(parallel, 8), switched_cluster()).one();
  return sim::gpu_memory(scenario, 8, 4).activations_bytes;
}

Json with_context(const char* exchange, int tensor = 1) {
  Json scenario = split_scenario(
      {{"context", 4}, {"tensor", tensor}, {"micro_batches", 2}, {"context_exchange", exchange}}, {4 * tensor});
  scenario["fidelity"] = "analytic";
  return scenario;
}

}  // namespace

TEST_CASE("all wait for the busiest expert rank; a capacity bounds what it takes") {
  const double even = expert_seconds(Json::object());
  double before = even;
  for (const double imbalance : {1.1, 1.5, 3.0}) {
    const double uneven = expert_seconds({{"expert_imbalance", imbalance}});
    CHECK(uneven > before);
    CHECK(uneven < even * imbalance);  // the rest of the model is as even as before
    CHECK(expert_memory({{"expert_imbalance", imbalance}}) > expert_memory(Json::object()));
    before = uneven;
  }
  CHECK(expert_seconds({{"expert_capacity", 1.5}}) == expert_seconds({{"expert_imbalance", 1.5}}));
  CHECK(expert_seconds({{"expert_capacity", 0.5}}) < even);
  // Of one rank with all experts only a capacity changes anything.
  const auto alone = [](const Json& more) {
    Json parallel{{"micro_batches", 2}, {"sharding", "zero1"}};
    parallel.update(more);
    return seconds_of(of_experts(parallel, 8));
  };
  CHECK(alone({{"expert_capacity", 2}}) > alone(Json::object()));
}

TEST_CASE("an imbalance beside a capacity, or of one rank with all experts, is refused") {
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_imbalance", 2}, {"expert_capacity", 1.25}});
             }),
             Contains("/parallel/expert_imbalance") && Contains("a capacity bounds"));
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_imbalance", 2}, {"expert", 1}});
             }),
             Contains("one rank has all experts"));
  CHECK_THAT(error_of([] { expert_seconds({{"expert_imbalance", 0.5}}); }), Contains("1 to 1000"));
}

TEST_CASE("keys and values beside the attention cost no more than gathered before it; heads for tokens need heads") {
  CHECK(seconds_of(with_context("ring")) <= seconds_of(with_context("all-gather")));
  // A fourth of queries, keys, values and outputs stays where it is; a ring passes three times keys and values on.
  CHECK(seconds_of(with_context("all-to-all")) > 0);
  CHECK_THAT(error_of([] { seconds_of(with_context("all-to-all", 4)); }), Contains("heads"));
  for (const char* exchange : {"ring", "all-gather", "all-to-all"}) {
    Json scenario = with_context(exchange);
    const double closed_s = seconds_of(scenario);
    scenario["fidelity"] = "fast";
    CHECK(seconds_of(scenario) == Approx(closed_s).epsilon(0.05));
  }
}

TEST_CASE("racks of 72 GPUs: a tensor group, and a replica of 72, lie on NVLink") {
  for (const std::string name : {"gb200_nvl72", "gb300_nvl72"}) {
    Json scenario = split_scenario({{"tensor", 8}, {"sequence", true}, {"pipeline", 9}, {"global_batch", 64}}, {144});
    scenario["cluster"] = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/" + name + ".json";
    scenario["model"]["config"]["num_hidden_layers"] = 9;
    scenario["fidelity"] = "analytic";
    scenario["compute"]["precision"] = "mixed";
    const double within_s = seconds_of(scenario);
    // The network between racks is not what a replica waits for: only gradients cross it.
    scenario["parallel"]["global_batch"] = 128;
    const double more_s = seconds_of(scenario);
    CHECK(more_s > within_s);
    CHECK(more_s < 2 * within_s);
  }
}

}  // namespace lockstep::tests
