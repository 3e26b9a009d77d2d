#pragma once
// The smallest scenario that has only the required keys, and its cluster of two nodes, as files in a folder of their
// own. A test changes the JSON and loads it.
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "tests/base/temporary_folder.hpp"

namespace lockstep::tests {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Two nodes of two GPUs.
inline Json small_cluster() {
  return Json::parse(R"({
    "schema": "lockstep/cluster/1", "name": "two nodes", "nodes": 2, "gpus_per_node": 2,
    "gpu": {"name": "G", "memory": "16 GB", "memory_bandwidth": "500 GB/s", "peak": {"fp32": "10 TFLOP/s"}},
    "host": {"memory_bandwidth": "40 GB/s"},
    "intra_node": {"kind": "pcie-tree", "switches": [{"socket": 0, "gpus": [0, 1]}],
                   "gpu_link": {"bandwidth": "12 GB/s", "latency": "0.5 us"},
                   "switch_uplink": {"bandwidth": "12 GB/s", "latency": "0.5 us"}},
    "nic": {"per_node": 1, "bandwidth": "100 Gbit/s", "latency": "1 us", "gpudirect": true, "attach": [0]},
    "fabric": {"kind": "star", "latency": "1 us"}})");
}

/// Two nodes of one GPU. Every link carries 10 GB/s without delay: a message of n bytes takes n/1e10 s.
inline Json even_cluster() {
  return Json::parse(R"({
    "schema": "lockstep/cluster/1", "name": "two even nodes", "nodes": 2, "gpus_per_node": 1,
    "gpu": {"name": "G", "memory": "16 GB", "memory_bandwidth": "500 GB/s", "peak": {"fp32": "10 TFLOP/s"}},
    "host": {"memory_bandwidth": "40 GB/s"},
    "intra_node": {"kind": "pcie-tree", "switches": [{"socket": 0, "gpus": [0]}],
                   "gpu_link": {"bandwidth": "10 GB/s", "latency": "0 us"},
                   "switch_uplink": {"bandwidth": "10 GB/s", "latency": "0 us"}},
    "nic": {"per_node": 1, "bandwidth": "10 GB/s", "latency": "0 us", "gpudirect": true, "attach": [0]},
    "fabric": {"kind": "star", "latency": "0 us"}})");
}

inline Json small_scenario() {
  return Json::parse(R"({
    "schema": "lockstep/scenario/1", "name": "small", "cluster": "cluster.json", "model": "lenet_crossbow",
    "gpus": [2, 4], "batch_per_gpu": 16, "compute": {"precision": "fp32"}})");
}

/// One GPU computes an iteration in exactly 16 ms (16 images at 1,000 images/s). The gradients follow as one message.
/// So on two nodes of even_cluster() an iteration takes 16 ms + bytes of the gradients / 10 GB/s.
inline Json even_scenario() {
  Json scenario = small_scenario();
  scenario["gpus"] = {1, 2};
  scenario["compute"]["rates"] = Json::parse(R"([{"batch": 16, "rate": "1000 images/s"}])");
  scenario["communication"] = Json::parse(R"({"all_reduce": "ring", "fusion_threshold": "1 GB", "overlap": false,
                                              "message_overhead": "0 us", "launch_overhead": "0 us"})");
  return scenario;
}

class SmallFiles {
 public:
  explicit SmallFiles(Json of_scenario = small_scenario(), Json of_cluster = small_cluster())
      : scenario(std::move(of_scenario)), cluster(std::move(of_cluster)) {}

  Json scenario;
  Json cluster;
  const TemporaryFolder folder;

  sim::LoadedScenario load(const Settings& settings = {}, const std::vector<int>& gpus = {}) const {
    folder.write("cluster.json", cluster.dump());
    return sim::load_scenario(folder.write("scenario.json", scenario.dump()), settings, gpus);
  }
  /// Returns the scenario of a file without variants.
  sim::Scenario one(const Settings& settings = {}, const std::vector<int>& gpus = {}) const {
    return load(settings, gpus).variants.at(0);
  }
};

}  // namespace lockstep::tests
