#pragma once
// Texts of a small scenario and its cluster, for "scenario.json" and "cluster.json".
#include <string>

namespace lockstep::tests {

/// Returns a cluster of nodes with two GPUs.
inline std::string small_cluster(int nodes) {
  return R"({"schema": "lockstep/cluster/1", "name": "small", "nodes": )" + std::to_string(nodes) +
         R"(, "gpus_per_node": 2,
  "gpu": {"name": "G", "memory": "16 GB", "memory_bandwidth": "500 GB/s", "peak": {"fp32": "10 TFLOP/s"}},
  "host": {"memory_bandwidth": "40 GB/s"},
  "intra_node": {"kind": "pcie-tree", "switches": [{"socket": 0, "gpus": [0, 1]}],
                 "gpu_link": {"bandwidth": "12 GB/s", "latency": "0.5 us"},
                 "switch_uplink": {"bandwidth": "12 GB/s", "latency": "0.5 us"}},
  "nic": {"per_node": 1, "bandwidth": "100 Gbit/s", "latency": "1 us", "gpudirect": true, "attach": [0]},
  "fabric": {"kind": "star", "latency": "1 us"}})";
}

inline const char* const kScenario = R"({
  "schema": "lockstep/scenario/1", "name": "small", "cluster": "cluster.json", "model": "lenet_crossbow",
  "gpus": [2, 4], "batch_per_gpu": 16, "compute": {"precision": "fp32"},
  "communication": {"all_reduce": "ring"}, "iterations": 2})";

}  // namespace lockstep::tests
