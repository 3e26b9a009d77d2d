// Splits replayed message by message: flows agree with SimGrid, and roughly with the closed form.
#include "sim/replica/program.hpp"
#include "tests/catch.hpp"
#include "tests/replica/random_splits.hpp"

namespace lockstep::tests {
namespace {

double time_of(const sim::PointResult& point) {
  return point.mean_iteration_s();
}

}  // namespace

TEST_CASE("splits by flows take the time that they take by SimGrid's messages") {
  constexpr int kSplits = 100;
  Draw draw(20);
  std::vector<sim::Scenario> scenarios;
  for (int i = 0; i < kSplits; ++i) scenarios.push_back(random_split_scenario(draw));
  std::vector<sim::PointJob> jobs;
  for (const sim::Scenario& scenario : scenarios)
    for (const sim::Fidelity fidelity : {sim::Fidelity::fast, sim::Fidelity::message, sim::Fidelity::analytic}) {
      sim::PointRequest request;
      request.gpus = scenario.gpus.front();
      request.fidelity = fidelity;
      request.iterations = 2;
      jobs.push_back({&scenario, request});
    }
  const std::vector<sim::PointResult> points = sim::predict_points(jobs, 2);
  int far = 0;
  for (std::size_t i = 0; i < points.size(); i += 3) {
    const double fast = time_of(points[i]), message = time_of(points[i + 1]), analytic = time_of(points[i + 2]);
    INFO(sim::to_json(scenarios[i / 3]).at("parallel").dump() << " on " << scenarios[i / 3].gpus.front());
    CHECK(fast == Approx(message).epsilon(1e-3));
    CHECK(points[i].bytes_sent_per_gpu == points[i + 1].bytes_sent_per_gpu);
    // In the closed form, no message waits for another of its pair, or meets another on a link.
    CHECK(analytic == Approx(message).epsilon(0.3));
    if (std::abs(analytic / message - 1) > 0.1) ++far;
  }
  CHECK(far <= kSplits / 10);
}

// Balanced stages of an embedding, 7 layers and an output: 3, 3 and 2 of these, and the output alone.
// The sanitizers see if the closed form reads beyond the list of layers.
TEST_CASE("a stage without layers scatters no layer's gradients; closed form and messages agree") {
  for (const char* sharding : {"zero2", "zero3"}) {
    Json scenario = split_scenario({{"pipeline", 4}, {"micro_batches", 4}, {"sharding", sharding}}, {16});
    scenario["model"]["config"]["num_hidden_layers"] = 7;
    const sim::Scenario read = SmallFiles(scenario, switched_cluster()).one();
    std::vector<sim::PointJob> jobs;
    for (const sim::Fidelity fidelity : {sim::Fidelity::fast, sim::Fidelity::message, sim::Fidelity::analytic}) {
      sim::PointRequest request;
      request.gpus = 16;
      request.fidelity = fidelity;
      request.iterations = 2;
      jobs.push_back({&read, request});
    }
    const std::vector<sim::PointResult> points = sim::predict_points(jobs, 2);
    INFO(sharding);
    CHECK(time_of(points[0]) == Approx(time_of(points[1])).epsilon(1e-3));
    CHECK(time_of(points[2]) == Approx(time_of(points[1])).epsilon(0.1));
  }
}

TEST_CASE("a replay of too many events is refused, and what can do it named") {
  const Json parallel{{"tensor", 8}, {"pipeline", 8}, {"micro_batches", 65536}};
  Json scenario = split_scenario(parallel, {256});
  scenario["fidelity"] = "message";
  CHECK_THROWS_WITH(predicted(SmallFiles(scenario, with_latency()).one()), Contains("allowed: analytic"));
  scenario["gpus"] = {1024};
  scenario["cluster"] = "cluster.json";
  scenario["fidelity"] = "fast";
  scenario["compute"]["jitter"] = {{"distribution", "normal"}, {"coefficient_of_variation", 0.05}};
  Json cluster = with_latency();
  cluster["nodes"] = 256;
  CHECK_THROWS_WITH(predicted(SmallFiles(scenario, cluster).one()), Contains("no /compute/jitter"));
}

TEST_CASE("replicas without jitter are alike: some of them take the time of all") {
  const auto seconds = [](int data, const std::string& sharding, const std::string& all_reduce, const Json& cluster,
                          int replayed) {
    const Json parallel{{"tensor", 2}, {"pipeline", 2}, {"micro_batches", 4}, {"sharding", sharding}};
    Json scenario = split_scenario(parallel, {4 * data});
    scenario["communication"]["all_reduce"] = all_reduce;
    if (all_reduce == "nccl") scenario["communication"]["nccl"] = {{"generation", "hopper"}};
    sim::Scenario read = SmallFiles(scenario, cluster).one();
    sim::PointRequest request;
    request.gpus = 4 * data;
    request.iterations = 1;
    const sim::PointResult fast = sim::predict_point(read, request);
    CHECK(fast.method.text() ==
          "fair flows of " + std::to_string(replayed) + " of " + std::to_string(data) + " identical replicas");
    request.fidelity = sim::Fidelity::message;
    return std::pair{time_of(fast), time_of(sim::predict_points({{&read, request}}, 1).front())};
  };
  for (const char* sharding : {"none", "zero1", "zero3"})
    for (const char* all_reduce : {"ring", "nccl"}) {
      const auto [fast, message] = seconds(16, sharding, all_reduce, with_latency(), 4);
      CHECK(fast == Approx(message).epsilon(1e-6));
      // Leaves of two nodes, with an uplink for both: two leaves of four replicas each stand for four.
      Json tree = with_latency();
      tree["fabric"] = Json::parse(
          R"({"kind": "fat-tree", "bandwidth": "40 GB/s", "latency": "1 us", "leaf_nodes": 2, "oversubscription": 2})");
      const auto [fast_on_tree, message_on_tree] = seconds(16, sharding, all_reduce, tree, 8);
      CHECK(fast_on_tree == Approx(message_on_tree).epsilon(1e-6));
    }
}

TEST_CASE("splits round by round take about the time that they take by flows") {
  for (const char* schedule : {"1f1b", "interleaved", "dualpipe"})
    for (const char* all_reduce : {"ring", "nccl"})
      for (const char* sharding : {"none", "zero1"}) {
        Json parallel{
            {"tensor", 4}, {"pipeline", 4}, {"micro_batches", 8}, {"schedule", schedule}, {"sharding", sharding}};
        if (parallel["schedule"] == "interleaved") parallel["virtual_stages"] = 2;
        Json scenario = split_scenario(parallel, {64});
        scenario["communication"]["all_reduce"] = all_reduce;
        if (parallel["sharding"] == "none") scenario["communication"]["fusion_threshold"] = "25 MB";
        if (scenario["communication"]["all_reduce"] == "nccl")
          scenario["communication"]["nccl"] = {{"generation", "hopper"}};
        const sim::Scenario read = SmallFiles(scenario, with_latency()).one();
        sim::Cluster cluster(read.cluster, 64);
        sim::apply_overheads(read, cluster);
        sim::SplitModel model(read, cluster, 64);
        const sim::Program program = sim::split_program(read, model, 1, model.job().spec.data);
        const sim::Jitter even = sim::jitter_of_stages(
            model, [](int, int) { return 1.0; }, model.job().spec.data);
        sim::Replay rounds;
        REQUIRE(sim::replay_shared_rounds(program, cluster, even, {}, sim::MeetingLinks::any, rounds));
        const sim::Replay flows = sim::replay_flows(program, cluster, even);
        INFO(parallel.dump() << " by " << all_reduce);
        CHECK(rounds.iteration_end_s[0] == Approx(flows.iteration_end_s[0]).epsilon(0.05));
        CHECK(rounds.compute_s[0] == Approx(flows.compute_s[0]).epsilon(1e-9));
      }
}

}  // namespace lockstep::tests
