#pragma once
// Defines the entries of the catalogue, and a list in which they are looked up by name.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/cluster_spec.hpp"
#include "sim/scenario/split_abilities.hpp"

namespace lockstep::sim {
inline namespace catalogue {

/// The members that every entry has. Its names are `id`, `name` and `aliases`.
struct Entry {
  std::string id;
  std::string name;  ///< for people, "H100 SXM5"; empty: the id
  std::vector<std::string> aliases;
  std::vector<Assumption> facts;  ///< its figures with their sources
};

constexpr int kUsualGpusPerNode = 8;

enum class Vendor { nvidia, amd };

struct GpuEntry : Entry {
  std::string file;  ///< file of a user's own GPU; empty: an entry of the catalogue
  std::string generation;
  Vendor vendor = Vendor::nvidia;
  double compute_capability =
      0;  ///< NVIDIA: lowest of the GPU's generation; AMD: of the NVIDIA generation with comparable kernels
  std::string speed_of;  ///< id of the GPU whose fitted speeds apply: itself, or one that differs only in memory
  /// Boards with this chip share a fitted speed, relative to their own peaks. It is empty for chips whose boards have
  /// tensor cores of different rates, such as GeForce cards.
  std::string chip;
  std::string kernels_of;                 ///< id of the GPU whose kernel laws apply if it has none; empty: none
  std::string intra_node;                 ///< id of the default link within a node
  std::vector<std::string> other_links;   ///< ids of NVLinks on the boards of other nodes with this GPU
  std::string network;                    ///< default network between nodes (network_grammar.hpp)
  int gpus_per_node = kUsualGpusPerNode;  ///< default number of GPUs that `intra_node` joins
  bool has_gpudirect = true;              ///< NICs read and write its memory
  bool has_pcie_peers = true;             ///< GPUs of a node access each other's memory over PCIe
  double nvlink_bridge_bytes_per_s = 0;   ///< one way, over an NVLink bridge to another card; 0: no bridge is possible
  int bridged_gpus = 2;                   ///< most GPUs that a bridge joins
  int nvlink_domain = 0;                  ///< most GPUs that NVLink joins, if smaller nodes are parts of it; 0: a node
  int gpus_per_tray = 0;                  ///< in a rack that NVLink joins into one node; 0: no rack
  GpuSpec spec;

  /// True for V100 and later GPUs, as their half-precision FLOP/s show.
  bool has_tensor_cores() const { return spec.fp16_flops > 50e12; }
};

constexpr int kGpusWithoutSwitch = 4;  ///< on a board whose GPUs have direct NVLinks to each other

struct IntraNodeEntry : Entry {
  bool is_nvlink = false;  ///< also true for Infinity Fabric, which is simulated in the same way
  // pcie-tree
  int gpus_per_switch = 0, switches_per_socket = 0;
  LinkSpec gpu_link, switch_uplink, socket_link;
  bool peer_across_sockets = true;
  // nvlink
  LinkSpec bus;                ///< a bridge takes its bandwidth from the GPU: Catalogue::nvlink_of()
  double share_of_bridge = 0;  ///< share of it that is reached; 0: these links are not a bridge
  std::string board_of;        ///< entry with a switch whose figures and fitted share these links have; empty: its own
  int links_per_pair = 0;      ///< links between two GPUs of a board without switch, which has kGpusWithoutSwitch GPUs
  double host_memory_bytes_per_s = 0;
};

/// Describes a cloud's machine by the kind of network, the line rate of a node, and the GPUs.
struct MachineSigns {
  std::string network;  ///< id
  double node_bits_per_s = 0;
  std::set<std::string> gpus;  ///< ids
};

struct NetworkEntry : Entry {
  double port_bytes_per_s = 0;  ///< as applications see it with RDMA; the line rate with TCP; 0: from the given rate
  double line_bits_per_s = 0;   ///< of a port, by its standard; 0: not fixed
  double latency_s = 0;
  bool rdma = true;
  bool is_whole_node = false;         ///< a cloud's machine: its bandwidth is that of all ports of a node
  int node_ports = 1;                 ///< of a whole node: number of ports that NCCL finds, which divide its bandwidth
  std::optional<MachineSigns> signs;  ///< of a whole node: facts that identify it; none: not unique
  bool needs_rate = false;            ///< a kind such as Ethernet, whose rate the user must give
  bool has_slow_plugin = false;       ///< NCCL uses a plugin for it whose latency is tens of microseconds
  bool is_ethernet = false;           ///< may be given by its rate in GbE
  std::string family;                 ///< of generations that differ by their line rate: "InfiniBand"
};

/// Least compute capability of PyTorch's memory-efficient attention (check_sm_version<SMVersion<5, 0>, ...> in
/// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp). FlashAttention-2 and cuDNN need 8.0.
constexpr double kAnyFusedAttention = 5.0;

/// Which counter reported a memory peak: the framework's tensors, its allocator's reserved memory, or the whole device.
enum class MemoryCounter { allocated, reserved, device };

inline const Choices<MemoryCounter>& choices_of(MemoryCounter) {
  static const Choices<MemoryCounter> all{{MemoryCounter::allocated, "allocated"},
                                          {MemoryCounter::reserved, "reserved"},
                                          {MemoryCounter::device, "device"}};
  return all;
}

struct StackEntry : Entry {
  double fusion_bytes = 0;
  std::string all_reduce, wire_mixed;
  Optimizer optimizer = Optimizer::momentum;
  bool overlap = true;
  bool fast_convolutions = true;  ///< Winograd in single precision
  bool fused_norms = false;       ///< a batch norm and the ReLU or sum right after it are one kernel
  bool transposes = false;        ///< tensors are stored by channel; tensor cores require copies around convolutions
  bool cuda_graphs = false;       ///< launches a whole iteration at once
  bool fused_attention = false;   ///< scores stay on the chip (Dao et al. 2022), in the versions that the entry covers
  double fused_attention_capability = kAnyFusedAttention;  ///< least compute capability for its kernels
  bool hopper_attention = false;   ///< its fused attention is written for Hopper and later (cuDNN 9, FlashAttention-3)
  bool sequence_parallel = false;  ///< default with tensor parallelism
  bool expert_overlap = false;     ///< default with expert ranks: all-to-alls overlap with passes
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;  ///< default with expert ranks
  TensorOverlap tensor_overlap = TensorOverlap::none;           ///< default
  bool whole_experts = false;                                   ///< default: tensor ranks hold whole experts
  bool pads_vocabulary = false;                                 ///< to a multiple that suits GEMMs on tensor cores
  bool gelu_in_steps = false;                                   ///< in causal transformers: each step is a kernel
  bool norms_in_steps = false;                                  ///< likewise for RMS norms and rotary positions
  bool fused_loss = false;          ///< reads and writes the logits in half precision, once per pass
  bool eight_bits = false;          ///< default: transformers train in eight bits on GPUs that support them
  bool trains_as_measured = false;  ///< its published rates are those of its trainings, or of the same scripts
  bool unpadded = false;            ///< samples of masked words are not padded: half of the largest length on average
  Recomputation recompute = Recomputation::none;       ///< default of a split
  Recomputation selective = Recomputation::selective;  ///< meaning of its option "selective"
  std::vector<std::string> causal_flops_of;  ///< programs of it that leave masked pairs out of attention's FLOP
  MemoryCounter peak_memory = MemoryCounter::allocated;  ///< counter of its memory peaks
  StateKeeping keeping = StateKeeping::mixed;            ///< key "parameter_bytes"
  StagePartition partition = StagePartition::even;
  SplitAbilities splits;     ///< without this key: only data parallelism
  std::string constants_of;  ///< id of the software whose kernels it runs; empty: its own

  /// Returns the id in the names of its fitted constants.
  const std::string& constants_id() const { return constants_of.empty() ? id : constants_of; }
  /// True if its exchange or its memory is modelled from its source code.
  bool is_followed() const {
    return (keeping != StateKeeping::mixed && keeping != StateKeeping::mixed_torch &&
            keeping != StateKeeping::autocast) ||
           tensor_overlap != TensorOverlap::none;
  }
};

/// `id` is the name of a network of the zoo.
struct ModelEntry : Entry {
  double train_samples = 0;  ///< per epoch; 0: no default data set
  int tokens = 0;            ///< per sequence; 0: samples are not sequences

  /// True if it trains on sequences; a vision transformer's tokens are parts of images.
  bool is_of_sequences() const { return tokens > 0 && train_samples == 0; }
};

/// Entries in the order of their file, with an index of names.
template <typename Of>
class Entries {
 public:
  Entries() = default;
  /// `names`: the entries' names, by index in `entries`.
  Entries(std::vector<Of> entries, NameIndex names) : entries_(std::move(entries)), names_(std::move(names)) {}

  /// The entry that has exactly this name; nullptr: none.
  const Of* named(const std::string& name) const {
    const std::optional<std::size_t> found = names_.find(name);
    return found ? &entries_[*found] : nullptr;
  }
  /// Finds the entry with exactly this id; nullptr: none.
  const Of* with_id(const std::string& id) const {
    const Of* found = named(id);
    return found != nullptr && found->id == id ? found : nullptr;
  }
  /// Ids of the entries that the user may have meant, nearest first; empty if no name is similar (NameIndex::nearest).
  std::vector<std::string> nearest_ids(const std::string& name, std::size_t count = 3) const {
    std::vector<std::string> ids;
    for (std::size_t place : names_.nearest(name, count)) ids.push_back(entries_[place].id);
    return ids;
  }
  /// Writes them as text for an error message: "nearest: h100-sxm, h200".
  std::string nearest_text(const std::string& name) const {
    const std::vector<std::string> ids = nearest_ids(name);
    return ids.empty() ? "no name is near it" : "nearest: " + joined(ids);
  }

  /// Adds an entry with its id and these names. Returns the entry that already has one of them; nullptr: it was added.
  const Of* add(Of entry, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const Of* other = named(name)) return other;
    entries_.push_back(std::move(entry));
    for (const std::string& name : names) names_.add(name, entries_.size() - 1);
    return nullptr;
  }

  /// Changes the figures of the entry with that id, which must exist; its names stay.
  template <typename Change>
  void change(const std::string& id, Change change_entry) {
    for (Of& entry : entries_)
      if (entry.id == id) change_entry(entry);
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  const Of& back() const { return entries_.back(); }

 private:
  std::vector<Of> entries_;
  NameIndex names_;
};

}  // namespace catalogue
}  // namespace lockstep::sim
