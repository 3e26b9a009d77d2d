// What the benchmarks' table is worth: fast takes the times of messages for every collective and every schedule on every kind
// of cluster, with jitter, as far as links are not shared out round by round.
#include <cmath>

#include "sim/point/point.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "tests/catch.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

constexpr int kBatch = 8;

// NVSwitch nodes whose messages go through host memory, besides those of each kind; a node to spare for servers.
std::vector<ClusterSpec> clusters_of(int nodes) {
  std::vector<ClusterSpec> specs = tests::clusters_of_each_kind(nodes + 1);
  specs.push_back(specs[1]);
  specs.back().name = "a NIC per GPU, staged";
  specs.back().nic.gpudirect = false;
  return specs;
}

// Two tensors above the fusion threshold and small ones.
model::Graph small_model() {
  model::GraphBuilder builder("small", "small", {3, 16, 16});
  int last = 0;
  for (const int outputs : {300, 1000, 10}) last = builder.fc("fc" + std::to_string(outputs), last, outputs);
  builder.softmax("loss", last);
  return builder.finish();
}

Scenario scenario_on(const ClusterSpec& cluster, int gpus) {
  Scenario s;
  s.name = "table";
  s.cluster = cluster;
  s.model = small_model();
  s.gpus = {gpus};
  s.baseline_gpus = 8;
  s.batch = {{gpus, kBatch}};
  s.compute.launch_s = 5e-6;
  s.compute.compute_efficiency = {{1, 0.5}};
  s.compute.memory_efficiency = 0.8;
  s.compute.jitter = JitterKind::lognormal;
  s.compute.jitter_variation = 0.05;
  s.communication.all_reduce = AllReduceKind::ring;
  s.communication.group_size = 8;
  s.communication.fusion_threshold_bytes = 500'000;
  s.communication.message_overhead_s = 5e-6;
  s.learners.fill = {{1, 0.6}};
  s.learners.tau = 1;
  s.uncertainty = {0.05, 0.1, 0.2, 0};
  return s;
}

Scenario scheduled(Scenario s, Algorithm algorithm) {
  s.algorithm = algorithm;
  s.local_sgd.period = 2;
  if (algorithm == Algorithm::parameter_server) s.parameter_server.emplace().servers = 8;
  if (has_workers(algorithm)) s.workers.emplace().servers = algorithm == Algorithm::async_easgd ? 1 : 8;
  return s;
}

// Names with scenarios: every collective by plain S-SGD, every other schedule.
std::vector<std::pair<std::string, Scenario>> rows_on(const ClusterSpec& cluster, int gpus) {
  std::vector<std::pair<std::string, Scenario>> rows;
  for (const Choice<AllReduceKind>& kind : choices_of(AllReduceKind())) {
    if (kind.value == AllReduceKind::profile || kind.value == AllReduceKind::profile_average) continue;  // as measured
    Scenario s = scenario_on(cluster, gpus);
    s.communication.all_reduce = kind.value;
    s.communication.hybrid_threshold_bytes = 1'000'000;
    rows.emplace_back(kind.name, s);
  }
  for (const Choice<Algorithm>& algorithm : choices_of(Algorithm()))
    if (algorithm.value != Algorithm::s_sgd)
      rows.emplace_back(algorithm.name, scheduled(scenario_on(cluster, gpus), algorithm.value));
  return rows;
}

std::vector<PointResult> both_ways(const Scenario& s, int iterations) {
  PointRequest request;
  request.gpus = s.gpus[0];
  request.batch_per_gpu = kBatch;
  request.iterations = iterations;
  std::vector<PointJob> jobs(2, {&s, request});
  jobs[0].request.fidelity = Fidelity::message;
  jobs[1].request.fidelity = Fidelity::fast;
  return predict_points(jobs, 2);
}

// Rounds of a ring are as many as GPUs: half a million messages of 512.
bool goes_round_all(const std::string& name, const Scenario& s) {
  return (name == "ring" || name == "hybrid" || s.algorithm != Algorithm::s_sgd) && !has_workers(s.algorithm) &&
         s.algorithm != Algorithm::parameter_server;
}

void check_row(const std::string& name, const Scenario& s, int iterations) {
  INFO(name << " over " << s.gpus[0] << " GPUs on " << s.cluster.name);
  const std::vector<PointResult> points = both_ways(s, iterations);
  CHECK(points[0].fidelity == "message");
  CHECK(points[1].method.find("round by round") == std::string::npos);
  REQUIRE(points[0].iteration_s.size() == points[1].iteration_s.size());
  CHECK(points[1].mean_iteration_s() == Approx(points[0].mean_iteration_s()).epsilon(1e-3));
  CHECK(points[1].compute_s == Approx(points[0].compute_s).epsilon(1e-3));
}

}  // namespace

TEST_CASE("property: fast takes the times of messages, of all collectives and schedules on 8 and 64 GPUs") {
  for (const int gpus : {8, 64})
    for (const ClusterSpec& cluster : clusters_of(gpus / 8))
      for (const auto& [name, s] : rows_on(cluster, gpus)) check_row(name, s, 3);
}

TEST_CASE("property: fast takes the times of messages, of all collectives and schedules on 512 GPUs") {
  for (const ClusterSpec& cluster : clusters_of(64))
    for (auto [name, s] : rows_on(cluster, 512)) {
      if (goes_round_all(name, s) && cluster.name != "a NIC per GPU") continue;  // some seconds each
      s.communication.fusion_threshold_bytes = 100'000'000;
      check_row(name, s, 1);
    }
}
