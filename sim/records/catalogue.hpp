#pragma once
// What the project knows beside the records: GPUs, links, networks, software and models by the names that publications
// use, and constants fitted on records. Files of scenarios/catalogue/, schema "lockstep/catalogue/1"; every figure
// with its kind and source.
//
//   gpus.json        {"id", "name", "generation", "aliases", "intra_node", "network", "memory", "memory_bandwidth",
//                     "peak": {"fp32", "tf32"?, "fp16"?, "bf16"?}}
//   intra_node.json  {"id", "kind": "pcie-tree", "aliases", "description", "gpus_per_switch", "switches_per_socket",
//                     "gpu_link", "switch_uplink", "socket_link", "peer_across_sockets", "host_memory_bandwidth"} or
//                    {"id", "kind": "nvlink", "aliases", "description", "bus_bandwidth", "latency", "nvls_bandwidth"?,
//                     "host_memory_bandwidth"}
//   networks.json    {"id", "aliases", "bandwidth", "latency", "rdma"}
//   stacks.json      {"id", "keywords", "fusion_threshold", "all_reduce", "wire_mixed", "optimizer", "overlap",
//                     "fast_convolutions"?: false}
//   models.json      {"id", "aliases", "train_samples"?, "tokens"?}
//   fitted.json      {"name", "value", "records": [ids it was fitted on]}; see fit.hpp
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim {

/// A figure with where it comes from.
struct Fact {
  double value = 0;
  std::string kind;
  std::string source;
};

struct GpuEntry {
  std::string id, name, generation, intra_node, network;
  std::vector<std::string> aliases;
  GpuSpec spec;
  std::vector<Assumption> facts;
};

struct IntraNodeEntry {
  std::string id;
  std::vector<std::string> aliases;
  bool is_nvlink = false;
  // pcie-tree
  int gpus_per_switch = 0, switches_per_socket = 0;
  LinkSpec gpu_link, switch_uplink, socket_link;
  bool peer_across_sockets = true;
  // nvlink
  LinkSpec bus;
  double nvls_bytes_per_s = 0;  ///< 0: without in-switch reduction
  double host_memory_bytes_per_s = 0;
  std::vector<Assumption> facts;
};

struct NetworkEntry {
  std::string id;
  std::vector<std::string> aliases;
  double port_bytes_per_s = 0;  ///< 0: the record's line rate
  double latency_s = 0;
  bool rdma = true;
  std::vector<Assumption> facts;
};

struct StackEntry {
  std::string id;
  std::vector<std::string> keywords;
  double fusion_bytes = 0;
  std::string all_reduce, wire_mixed;
  Optimizer optimizer = Optimizer::momentum;
  bool overlap = true;
  bool fast_convolutions = true;  ///< Winograd in single precision
  std::vector<Assumption> facts;
};

struct ModelEntry {
  std::string id;
  std::vector<std::string> aliases;
  double train_samples = 0;  ///< of an epoch; 0: no data set goes without saying
  int tokens = 0;            ///< of a sequence; 0: its samples are no sequences
};

struct Constant {
  double value = 0;
  std::vector<std::string> records;  ///< ids it was fitted on
};

struct Catalogue {
  std::vector<GpuEntry> gpus;
  std::vector<IntraNodeEntry> intra_nodes;
  std::vector<NetworkEntry> networks;
  std::vector<StackEntry> stacks;
  std::vector<ModelEntry> models;
  std::map<std::string, Constant> constants;

  const GpuEntry* gpu(const std::string& name) const;  ///< nullptr: none fits
  const IntraNodeEntry* intra_node(const std::string& name) const;
  const IntraNodeEntry& intra_node_by_id(const std::string& id) const;
  const NetworkEntry* network(const std::string& name) const;
  /// nullptr also for a network of another depth than the entry, and for one that has the entry as its backbone.
  const ModelEntry* model(const std::string& name) const;
  /// By keywords in the record's source, system and algorithm; the last entry fits all.
  const StackEntry& stack(const std::string& texts) const;
};

/// Reads the files of a folder. Throws InputError.
Catalogue load_catalogue(const std::string& folder);
/// The catalogue's folder of an installed program, of a build folder, or of the sources it was built from. Throws
/// InputError when there is none.
std::string default_catalogue_folder();

}  // namespace lockstep::sim
