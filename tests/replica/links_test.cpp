// Collectives of groups, worked by hand.
#include "sim/replica/representative_replicas.hpp"
#include "sim/replica/split_links.hpp"
#include "tests/catch.hpp"
#include "tests/replica/random_splits.hpp"

namespace lockstep::tests {
namespace {

using sim::TrafficGroup;
using sim::TrafficKind;

constexpr double kBytes = 8e6;

// Makes two nodes of four GPUs; tensor 4 is within a node, data 2 between nodes.
sim::SplitLinks links_of(const Json& cluster, const Json& parallel, const char* all_reduce = "ring", int gpus = 8) {
  Json scenario = split_scenario(parallel, {gpus});
  scenario["communication"]["all_reduce"] = all_reduce;
  if (std::string(all_reduce) == "nccl") scenario["communication"]["nccl"] = {{"generation", "hopper"}};
  const sim::Scenario read = SmallFiles(scenario, cluster).one();
  return sim::SplitLinks(read, sim::Cluster(read.cluster, gpus), read.parallel_at(gpus));
}

double seconds(const sim::SplitLinks& links, TrafficKind kind, TrafficGroup group, int ranks) {
  return links.seconds({"", kind, group, ranks, kBytes});
}

}  // namespace

TEST_CASE("groups within a node go by its switch, groups between nodes share its NICs") {
  const Json parallel{{"tensor", 4}, {"micro_batches", 1}};
  const sim::SplitLinks links = links_of(switched_cluster(), parallel);
  // Six rounds of a quarter at 100 GB/s.
  CHECK(seconds(links, TrafficKind::all_reduce, TrafficGroup::tensor, 4) == Approx(6 * kBytes / 4 / 100e9));
  // Each of the four groups has a NIC of 10 GB/s to itself: two rounds of a half.
  CHECK(seconds(links, TrafficKind::all_reduce, TrafficGroup::gradients, 2) == Approx(kBytes / 10e9));
  CHECK(seconds(links, TrafficKind::reduce_scatter, TrafficGroup::gradients, 2) == Approx(kBytes / 2 / 10e9));

  // With one NIC for all four they take four times as long.
  Json one_nic = switched_cluster();
  one_nic["nic"]["per_node"] = 1;
  const sim::SplitLinks shared = links_of(one_nic, parallel);
  CHECK(seconds(shared, TrafficKind::all_reduce, TrafficGroup::gradients, 2) == Approx(4 * kBytes / 10e9));
  CHECK(seconds(shared, TrafficKind::all_reduce, TrafficGroup::tensor, 4) == Approx(6 * kBytes / 4 / 100e9));
}

TEST_CASE("an all-to-all between nodes sends what is not for its own node over the NICs") {
  Json scenario = split_scenario({{"micro_batches", 1}, {"expert", 8}, {"sequence", true}}, {8});
  scenario["model"]["config"] = Json::parse(R"({"model_type": "mixtral", "hidden_act": "silu", "hidden_size": 512,
    "intermediate_size": 512, "max_position_embeddings": 4096, "num_attention_heads": 8, "num_hidden_layers": 8,
    "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 16,
    "tie_word_embeddings": false, "sliding_window": null})");
  const sim::Scenario read = SmallFiles(scenario, switched_cluster()).one();
  const sim::SplitLinks links(read, sim::Cluster(read.cluster, 8), read.parallel_at(8));
  // Half of a member's bytes are for the other node, at 10 GB/s; three eighths stay, at 100 GB/s.
  CHECK(seconds(links, TrafficKind::all_to_all, TrafficGroup::expert, 8) == Approx(kBytes / 2 / 10e9));

  // With half of the NICs' bandwidth they take twice as long, in closed form and by messages.
  scenario["communication"] = {{"all_reduce", "nccl"}, {"nccl", {{"generation", "hopper"}, {"all_to_all_share", 0.5}}}};
  const sim::Scenario half = SmallFiles(scenario, switched_cluster()).one();
  const sim::SplitLinks slower(half, sim::Cluster(half.cluster, 8), half.parallel_at(8));
  CHECK(seconds(slower, TrafficKind::all_to_all, TrafficGroup::expert, 8) == Approx(kBytes / 10e9));
  scenario["fidelity"] = "message";
  const double by_messages_s = predicted(SmallFiles(scenario, switched_cluster()).one()).mean_iteration_s();
  CHECK(by_messages_s == Approx(predicted(half).mean_iteration_s()).epsilon(0.1));
}

TEST_CASE("a dispatch crosses the NICs once for each node, and NVLink once for each GPU") {
  const Json parallel{{"micro_batches", 1}, {"expert", 8}, {"sequence", true}};
  Json scenario = split_scenario(parallel, {8});
  scenario["model"] = small_mixture();
  const sim::Scenario read = SmallFiles(scenario, switched_cluster()).one();
  const sim::SplitLinks links(read, sim::Cluster(read.cluster, 8), read.parallel_at(8));
  sim::Traffic dispatch{"", TrafficKind::dispatch, TrafficGroup::expert, 8, kBytes};
  dispatch.choices = 2;
  dispatch.experts = 8;
  // 22 of 28 pairs of experts have one on the other node, at 10 GB/s. With a NIC 1000 times as fast, NVLink counts:
  // from both nodes to three GPUs, each of which has an expert of 7 of 28 pairs.
  CHECK(links.seconds(dispatch) == Approx(kBytes / 2 * 22 / 28 / 10e9));
  Json fast = switched_cluster();
  fast["nic"]["bandwidth"] = "10000 GB/s";
  fast["fabric"]["bandwidth"] = "40000 GB/s";
  const sim::SplitLinks within(read, sim::Cluster(SmallFiles(scenario, fast).one().cluster, 8), read.parallel_at(8));
  CHECK(within.seconds(dispatch) == Approx(2 * 3 * kBytes / 2 * 7 / 28 / 100e9));
  // NVLink of 1,000 GB/s: the kernels pass on 300 GB/s.
  fast["intra_node"]["gpu_link"]["bandwidth"] = "1000 GB/s";
  fast["intra_node"]["pcie_link"]["bandwidth"] = "1000 GB/s";
  dispatch.passed_on_per_s = 300e9;
  const sim::SplitLinks kernels(read, sim::Cluster(SmallFiles(scenario, fast).one().cluster, 8), read.parallel_at(8));
  CHECK(kernels.seconds(dispatch) == Approx(2 * 3 * kBytes / 2 * 7 / 28 / 300e9));
}

TEST_CASE("NCCL's model of a group is never faster than its links") {
  for (const int nics : {1, 2, 4}) {
    Json cluster = switched_cluster();
    cluster["nic"]["per_node"] = nics;
    cluster["fabric"]["bandwidth"] = "400 GB/s";
    const sim::SplitLinks links = links_of(cluster, {{"tensor", 4}, {"micro_batches", 1}}, "nccl");
    CHECK(seconds(links, TrafficKind::all_reduce, TrafficGroup::gradients, 2) >= kBytes / (nics * 10e9 / 4));
    CHECK(seconds(links, TrafficKind::all_gather, TrafficGroup::tensor, 4) >= 3 * kBytes / 4 / 100e9);
  }
}

// Stages of six GPUs on nodes of four: each group of three has two members on one node and one on the other. A ring then
// leaves each node once, by one NIC of 10 GB/s, as if each member were on a node of its own.
TEST_CASE("a group with more members on one node than on another is no slower than one with a node for each") {
  const Json uneven{{"tensor", 2}, {"pipeline", 2}, {"micro_batches", 2}}, apart{{"tensor", 4}, {"micro_batches", 1}};
  for (const TrafficKind kind : {TrafficKind::all_reduce, TrafficKind::reduce_scatter, TrafficKind::all_gather}) {
    const double passed = (kind == TrafficKind::all_reduce ? 2 : 1) * kBytes * 2 / 3;
    const double uneven_s = seconds(links_of(switched_cluster(), uneven, "nccl", 12), kind, TrafficGroup::gradients, 3);
    CHECK(uneven_s >= passed / 10e9);
    CHECK(uneven_s <= seconds(links_of(switched_cluster(), apart, "nccl", 12), kind, TrafficGroup::gradients, 3));
  }
}

TEST_CASE("messages of some replicas meet on links as those of all replicas do") {
  Draw draw(20261128);
  const std::vector<Json> fabrics{Json::parse(R"({"kind": "star", "bandwidth": "40 GB/s", "latency": "1 us"})"),
                                  Json::parse(R"({"kind": "star", "bandwidth": "15 GB/s", "latency": "1 us"})"),
                                  Json::parse(R"({"kind": "fat-tree", "bandwidth": "40 GB/s", "latency": "1 us",
                                                  "leaf_nodes": 4, "oversubscription": 2})")};
  int fewer = 0;
  for (int i = 0; i < 200; ++i) {
    Json cluster = with_latency();
    cluster["nodes"] = 4096;
    cluster["fabric"] = draw.of(fabrics);
    const int data = draw.of<int>({8, 16, 24, 32, 48, 128}), tensor = draw.of<int>({1, 2, 3, 4, 8});
    Json parallel{{"tensor", tensor}, {"pipeline", draw.of<int>({1, 2, 4})}, {"context", draw.of<int>({1, 1, 2})}};
    parallel["sequence"] = tensor > 1;
    parallel["sharding"] = "zero1";
    if (draw.of<bool>({false, true})) parallel["sharding_group"] = 4 * parallel.at("context").get<int>();
    if (draw.of<bool>({false, true})) parallel["order"] = {"tensor", "context", "expert", "pipeline", "data"};
    const int gpus = tensor * data * parallel.at("pipeline").get<int>() * parallel.at("context").get<int>();
    parallel["micro_batches"] = 8;
    Json scenario = split_scenario(parallel, {gpus});
    scenario["model"]["config"]["num_attention_heads"] = scenario["model"]["config"]["num_key_value_heads"] = 24;
    scenario["model"]["config"]["hidden_size"] = 24 * 64;
    scenario["communication"]["all_reduce"] = draw.of<std::string>({"ring", "nccl"});
    if (scenario["communication"]["all_reduce"] == "nccl")
      scenario["communication"]["nccl"] = {{"generation", "hopper"}};
    const sim::Scenario read = SmallFiles(scenario, cluster).one();
    const sim::Cluster machine(read.cluster, gpus);
    const sim::ParallelSpec spec = read.parallel_at(gpus);
    const sim::SplitLinks some(read, machine, spec), all(read, machine, spec, spec.data);
    if (sim::representative_replicas(spec, machine.gpus_of_unit()) < spec.data) ++fewer;
    INFO(gpus << " GPUs, " << parallel.dump() << ", " << cluster["fabric"].dump());
    for (const TrafficGroup group : {TrafficGroup::tensor, TrafficGroup::context, TrafficGroup::gradients,
                                     TrafficGroup::shards, TrafficGroup::shard_copies}) {
      CHECK(some.of(group).ranks == all.of(group).ranks);
      CHECK(some.of(group).nodes == all.of(group).nodes);
      for (const TrafficKind kind : {TrafficKind::all_reduce, TrafficKind::all_gather, TrafficKind::all_to_all})
        CHECK(seconds(some, kind, group, some.of(group).ranks) ==
              Approx(seconds(all, kind, group, all.of(group).ranks)).epsilon(1e-12));
    }
    if (spec.pipeline == 1) continue;
    for (const TrafficGroup group : {TrafficGroup::embeddings, TrafficGroup::neighbour})
      CHECK(seconds(some, TrafficKind::send, group, 2) ==
            Approx(seconds(all, TrafficKind::send, group, 2)).epsilon(1e-12));
  }
  CHECK(fewer > 100);
}

}  // namespace lockstep::tests
