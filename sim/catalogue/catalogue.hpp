#pragma once
// The catalogue: GPUs, links, networks, software and models by name, and constants fitted on records. Predictions look
// up names here. The files are in scenarios/catalogue/, schema "lockstep/catalogue/1". Every figure has its kind and
// source.
//
//   gpus.json        {"id", "name", "generation", "chip"?, "speed_of"?, "kernels_of"?, "aliases", "intra_node",
//                     "gpus_per_node"? (8), "gpus_per_tray"?, "nvlink_domain"?, "other_links"?, "nvlink_bridge"? (one way, by data
//                     sheets), "bridged_gpus"? (2), "pcie_peers"?: false, "gpudirect"?: false, "network", "memory", "memory_bandwidth",
//                     "host_link"? (to and from host memory, each way), "peak": {"fp32", "tf32"?, "fp16"?, "bf16"?, "fp8"?, "fp4"?}}
//   intra_node.json  {"id", "name", "kind": "pcie-tree", "aliases", "description", "gpus_per_switch",
//                     "switches_per_socket", "gpu_link", "switch_uplink", "socket_link", "peer_across_sockets",
//                     "host_memory_bandwidth"} or
//                    {"id", "name", "kind": "nvlink" or "infinity-fabric", "aliases", "description", "bus_bandwidth",
//                     "latency", "host_memory_bandwidth"} or
//                    the same with "share_of_bridge", of the GPU's "nvlink_bridge", for "bus_bandwidth", or
//                    {"id", "name", "kind": "nvlink", "aliases", "description", "board_of": an id,
//                     "links_per_pair"}
//   networks.json    {"id", "name", "aliases", "whole_node"?, "ports"?, "signs"?: {"network", "rate" of a node, "gpus"},
//                     "line_rate"?, "needs_rate"?,
//                     "ethernet"?, "slow_plugin"?, "family"?, "bandwidth", "latency", "rdma"}
//   stacks.json      {"id", "name", "aliases", "fusion_threshold", "all_reduce", "wire_mixed", "optimizer",
//                     "overlap", "fast_convolutions"?: false, "fused_norms"?: true, "transposes"?: true,
//                     "cuda_graphs"?: true, "fused_attention"?: true,
//                     "fused_attention_capability"? (5.0), "sequence_parallel"?: true,
//                     "hopper_attention"?: true, "tensor_overlap"?: "backward", "whole_experts"?: true,
//                     "pads_vocabulary"?: true, "expert_overlap"?: true, "expert_dispatch"?: "deepep", "fused_loss"?: true, "gelu_in_steps"?: true,
//                     "norms_in_steps"?: true, "eight_bits"?: true, "unpadded"?: true, "recompute"?: "full", "selective"?: "alternate-matrices",
//                     "constants_of"?: "transformers", "causal_flops_of"?: [...], "peak_memory"?: "reserved", "parameter_bytes"?: "fsdp", "partition"?: "by-cost",
//                     "splits"?: {"dimensions", "schedules", "sharding", "sharding_groups"?: true, "sequence"?: false,
//                                 "expert_overlap"?: true, "expert_dispatch"?: "hybridep",
//                                 "recompute": names, or lists of parts of a layer; "source"}}
//   models.json      {"id", "aliases", "train_samples"?, "tokens"?}
//   loss_laws.json   laws of the loss of language models (sim/loss/README.md)
//   reference_points.json   MLPerf's reference runs (sim/convergence/reference_points.hpp)
//   fitted.json      {"name", "value", "deviation", "records": how many, "sources": [theirs]}
//
// An entry's names are its id, its name and its aliases (name_index.hpp says when two names are one); no name stands
// for two entries of a file.
#include <map>
#include <string>
#include <vector>

#include "sim/catalogue/entries.hpp"
#include "sim/catalogue/own_models.hpp"
#include "sim/convergence/reference_points.hpp"
#include "sim/kernel/kernel_files.hpp"
#include "sim/loss/loss_law.hpp"

namespace lockstep::sim {
inline namespace catalogue {

/// A fitted constant: a factor on its prior or on the next more general constant (sim/validation/fit.hpp), or the width
/// of an interval.
struct Constant {
  double value = 0;
  double deviation = 0;              ///< of its logarithm, after the fit
  int records = 0;                   ///< number of records on which it was fitted
  std::vector<std::string> sources;  ///< sources of these records
};

struct LossLawEntry : Entry {
  LossLaw law;
};

struct Catalogue {
  Entries<GpuEntry> gpus;
  Entries<IntraNodeEntry> intra_nodes;
  Entries<NetworkEntry> networks;
  Entries<StackEntry> stacks;
  Entries<ModelEntry> models;
  Entries<LossLawEntry> loss_laws;
  std::map<std::string, Constant> constants;
  std::shared_ptr<KernelLawFiles> kernel_files;
  std::shared_ptr<ReferenceFile> reference_points;                        ///< MLPerf's, reference_points.json
  std::shared_ptr<OwnModels> own_models = std::make_shared<OwnModels>();  ///< made of its models; copies share it

  const IntraNodeEntry& intra_node_by_id(const std::string& id) const;  ///< throws InputError if there is none
  /// The entry that has the link's figures: its own, or for a board without a switch the entry of the same links on a
  /// switch.
  const IntraNodeEntry& figures_of(const IntraNodeEntry& link) const;
  /// The laws of a GPU's kernels: its own first, then those of the GPUs in `kernels_of`.
  KernelLaws kernel_laws_of(const GpuEntry& gpu) const;
  /// The ids of the GPUs from whose files kernel_laws_of() takes laws.
  std::vector<std::string> kernel_donors_of(const GpuEntry& gpu) const;
  /// The board without a switch that has such links; null: none.
  const IntraNodeEntry* board_of(const std::string& link) const;
  /// The reason why GPUs of a node cannot have that link, with the links that they can have; empty: they can. Every GPU
  /// can have PCIe.
  std::string why_no_link(const GpuEntry& gpu, const IntraNodeEntry& link) const;
  /// Returns bandwidth and latency of an NVLink between such GPUs. A bridge has `share_of_bridge` of the bandwidth that
  /// the GPU's `nvlink_bridge` gives.
  LinkSpec nvlink_of(const IntraNodeEntry& link, const GpuEntry& gpu) const;
};

/// Reads the files of a folder. Throws InputError, also if a name belongs to two entries, or a GPU's link or network is
/// not in the catalogue.
Catalogue load_catalogue(const std::string& folder);

/// True if the name is a file that describes a GPU, *.json.
bool is_gpu_file(const std::string& name);

/// Adds the GPUs of those `names` that are files (*.json). Each file is one object like an entry of gpus.json. The
/// file's path becomes another name of its GPU. Throws InputError for an invalid entry, and for a name that the
/// catalogue already has.
void add_gpus_of_files(Catalogue& catalogue, const std::vector<std::string>& names);
}  // namespace catalogue
}  // namespace lockstep::sim
