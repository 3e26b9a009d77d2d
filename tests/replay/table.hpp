#pragma once
// Makes the rows of the benchmarks' table, on small models: every collective by plain S-SGD, and every other schedule.
#include <string>
#include <utility>
#include <vector>

#include "sim/point/point.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "tests/replay/clusters.hpp"

namespace lockstep::tests {

constexpr int kTableBatch = 8;

/// NVSwitch nodes whose messages go through host memory, besides those of each kind; a node to spare for servers.
inline std::vector<sim::ClusterSpec> table_clusters(int nodes) {
  std::vector<sim::ClusterSpec> specs = clusters_of_each_kind(nodes + 1);
  specs.push_back(specs[1]);
  specs.back().name = "a NIC per GPU, staged";
  specs.back().nic.gpudirect = false;
  return specs;
}

/// Makes two tensors above the fusion threshold and small ones.
inline model::Graph table_model() {
  model::GraphBuilder builder("small", "small", {3, 16, 16});
  int last = 0;
  for (const int outputs : {300, 1000, 10}) last = builder.fc("fc" + std::to_string(outputs), last, outputs);
  builder.softmax("loss", last);
  return builder.finish();
}

inline sim::Scenario table_scenario(const sim::ClusterSpec& cluster, int gpus) {
  sim::Scenario s;
  s.name = "table";
  s.cluster = cluster;
  s.model = table_model();
  s.gpus = {gpus};
  s.baseline_gpus = 8;
  s.batch = {{gpus, kTableBatch}};
  s.compute.launch_s = 5e-6;
  s.compute.compute_efficiency = {{1, 0.5}};
  s.compute.memory_efficiency = 0.8;
  s.compute.jitter = sim::JitterKind::lognormal;
  s.compute.jitter_variation = 0.05;
  s.communication.all_reduce = sim::AllReduceKind::ring;
  s.communication.group_size = 8;
  s.communication.fusion_threshold_bytes = 500'000;
  s.communication.message_overhead_s = 5e-6;
  s.learners.fill = {{1, 0.6}};
  s.learners.tau = 1;
  s.uncertainty = {0.05, 0.1, 0.2, 0};
  return s;
}

inline sim::Scenario scheduled(sim::Scenario s, Algorithm algorithm) {
  s.algorithm = algorithm;
  s.local_sgd.period = 2;
  if (algorithm == Algorithm::parameter_server) s.parameter_server.emplace().servers = 8;
  if (sim::has_workers(algorithm)) {
    s.workers.emplace().servers = algorithm == Algorithm::async_easgd ? 1 : 8;
    s.workers->separate = false;
  }
  return s;
}

/// With their names: every collective by plain S-SGD, every other schedule.
inline std::vector<std::pair<std::string, sim::Scenario>> table_rows(const sim::ClusterSpec& cluster, int gpus) {
  std::vector<std::pair<std::string, sim::Scenario>> rows;
  for (const Choice<sim::AllReduceKind>& kind : choices_of(sim::AllReduceKind())) {
    if (kind.value == sim::AllReduceKind::profile || kind.value == sim::AllReduceKind::profile_average)
      continue;  // as measured
    sim::Scenario s = table_scenario(cluster, gpus);
    s.communication.all_reduce = kind.value;
    s.communication.hybrid_threshold_bytes = 1'000'000;
    rows.emplace_back(kind.name, s);
  }
  for (const Choice<Algorithm>& algorithm : choices_of(Algorithm()))
    if (algorithm.value != Algorithm::s_sgd)
      rows.emplace_back(algorithm.name, scheduled(table_scenario(cluster, gpus), algorithm.value));
  return rows;
}

/// Rounds of a ring are as many as GPUs: half a million messages of 512.
inline bool goes_round_all(const std::string& name, const sim::Scenario& s) {
  return (name == "ring" || name == "hybrid" || s.algorithm != Algorithm::s_sgd) && !sim::has_workers(s.algorithm) &&
         s.algorithm != Algorithm::parameter_server;
}

}  // namespace lockstep::tests
