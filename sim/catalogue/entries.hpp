#pragma once
// Entries of the catalogue, and a list of them that is looked up by name.
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
  std::string file;  ///< of a user's own GPU; empty: one of the catalogue
  std::string generation;
  Vendor vendor = Vendor::nvidia;
  double compute_capability =
      0;  ///< NVIDIA's lowest of the GPU's generation; for AMD, of the NVIDIA generation whose kernels compare
  std::string
      speed_of;  ///< id of the GPU whose fitted speeds are this one's: itself, or one that differs in memory alone
  std::string kernels_of;  ///< id of the GPU whose kernel laws it takes where it has none of its own; empty: of none
  std::string intra_node;  ///< id of the link that a node of them usually has
  std::vector<std::string> other_links;   ///< ids of NVLinks on the board of other nodes with this GPU
  std::string network;                    ///< that a node of them usually has (network_grammar.hpp)
  int gpus_per_node = kUsualGpusPerNode;  ///< usually joined by `intra_node`
  bool has_gpudirect = true;              ///< NICs read and write its memory
  bool has_pcie_peers = true;             ///< over PCIe, GPUs of a node read and write each other's memory
  double nvlink_bridge_bytes_per_s = 0;   ///< one way, over an NVLink bridge to another card; 0: it takes no bridge
  int bridged_gpus = 2;                   ///< that a bridge joins at most
  int nvlink_domain = 0;                  ///< that it joins at most, where nodes of fewer are its parts; 0: a node
  int gpus_per_tray = 0;                  ///< of a rack that NVLink joins into one node; 0: no rack
  GpuSpec spec;

  /// True for V100 and later GPUs, told by their half-precision FLOP/s.
  bool has_tensor_cores() const { return spec.fp16_flops > 50e12; }
};

constexpr int kGpusWithoutSwitch = 4;  ///< of a board whose GPUs have NVLinks of their own to each other

struct IntraNodeEntry : Entry {
  bool is_nvlink = false;  ///< or Infinity Fabric, which is simulated in the same way
  // pcie-tree
  int gpus_per_switch = 0, switches_per_socket = 0;
  LinkSpec gpu_link, switch_uplink, socket_link;
  bool peer_across_sockets = true;
  // nvlink
  LinkSpec bus;                ///< a bridge takes its bandwidth from the GPU: Catalogue::bus_of()
  double share_of_bridge = 0;  ///< of that; 0: these links are no bridge between cards
  std::string board_of;    ///< the entry on a switch whose figures and fitted share these links have; empty: its own
  int links_per_pair = 0;  ///< of such a board of kGpusWithoutSwitch GPUs
  double host_memory_bytes_per_s = 0;
};

/// Tells a cloud's machine by the network's kind, the line rate of a node, and the GPUs.
struct MachineSigns {
  std::string network;  ///< id
  double node_bits_per_s = 0;
  std::set<std::string> gpus;  ///< ids
};

struct NetworkEntry : Entry {
  double port_bytes_per_s = 0;  ///< that an application sees with RDMA, the line rate with TCP; 0: from the given rate
  double line_bits_per_s = 0;   ///< of a port, by its standard; 0: none of its own
  double latency_s = 0;
  bool rdma = true;
  bool is_whole_node = false;         ///< a cloud's machine: its bandwidth is that of all ports of a node
  int node_ports = 1;                 ///< of a whole node: how many ports NCCL finds, which share its bandwidth
  std::optional<MachineSigns> signs;  ///< of a whole node, where it has some that no other machine has
  bool needs_rate = false;            ///< a kind such as Ethernet, whose rate must be said
  bool has_slow_plugin = false;  ///< NCCL reaches it through a plugin of its own, whose latency is tens of microseconds
  bool is_ethernet = false;      ///< may be written with a rate in GbE
  std::string family;            ///< of generations that are told apart by their line rate: "InfiniBand"
};

/// Least compute capability of PyTorch's memory-efficient attention (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:
/// check_sm_version<SMVersion<5, 0>, ...>); FlashAttention-2 and cuDNN need 8.0.
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
  bool fused_norms = false;       ///< batch norm, and the ReLU or sum right behind it, are one kernel
  bool transposes = false;       ///< tensors lie by channel, which tensor cores do not take: copies around convolutions
  bool cuda_graphs = false;      ///< a whole iteration is launched at once
  bool fused_attention = false;  ///< scores stay on the chip (Dao et al. 2022), in the versions it stands for
  double fused_attention_capability = kAnyFusedAttention;  ///< least compute capability that its kernels need
  bool hopper_attention = false;   ///< its fused attention is written for Hopper and later (cuDNN 9, FlashAttention-3)
  bool sequence_parallel = false;  ///< with tensor parallelism, unless said otherwise
  bool expert_overlap = false;     ///< with expert ranks, all-to-alls overlap with passes, unless said otherwise
  TensorOverlap tensor_overlap = TensorOverlap::none;  ///< the same
  bool whole_experts = false;                          ///< tensor ranks hold whole experts, the same
  bool pads_vocabulary = false;                        ///< to a multiple that products of tensor cores like
  bool gelu_in_steps = false;                          ///< of causal transformers, each step a kernel
  bool norms_in_steps = false;                         ///< RMS norms and rotary positions, the same
  bool fused_loss = false;          ///< of a vocabulary: scores are read and written in half precision, once a pass
  bool eight_bits = false;          ///< transformers train in eight bits on GPUs that have them, the same
  bool trains_as_measured = false;  ///< its published rates are of its trainings, or of the same scripts
  std::vector<std::string> releases;  ///< versions of whose speed results are known, the oldest first
  bool unpadded = false;            ///< samples of masked words are as long as they are: half of the most, at a mean
  Recomputation recompute = Recomputation::none;       ///< of a split, the same
  Recomputation selective = Recomputation::selective;  ///< what it calls so
  std::vector<std::string> causal_flops_of;  ///< programs of it that count attention without what a causal mask hides
  MemoryCounter peak_memory = MemoryCounter::allocated;  ///< which counter its peaks are of
  StateKeeping keeping = StateKeeping::mixed;            ///< key "parameter_bytes"
  SplitAbilities splits;                                 ///< without the key, data parallelism alone

  /// True if its exchange or its memory was read from its source code.
  bool is_followed() const {
    return (keeping != StateKeeping::mixed && keeping != StateKeeping::autocast) ||
           tensor_overlap != TensorOverlap::none;
  }
};

/// `id` is that of a network of the zoo.
struct ModelEntry : Entry {
  double train_samples = 0;  ///< of an epoch; 0: no data set goes without saying
  int tokens = 0;            ///< of a sequence; 0: its samples are no sequences

  /// Trains on sequences; a vision transformer's tokens are of images.
  bool is_of_sequences() const { return tokens > 0 && train_samples == 0; }
};

/// Entries in the order of their file, with an index of their names.
template <typename Of>
class Entries {
 public:
  Entries() = default;
  /// `names` has the entries' names by their place in `entries`.
  Entries(std::vector<Of> entries, NameIndex names) : entries_(std::move(entries)), names_(std::move(names)) {}

  /// The entry of that name, whole; nullptr: none.
  const Of* named(const std::string& name) const {
    const std::optional<std::size_t> found = names_.find(name);
    return found ? &entries_[*found] : nullptr;
  }
  /// The entry whose id is spelled exactly so; nullptr: none.
  const Of* with_id(const std::string& id) const {
    const Of* found = named(id);
    return found != nullptr && found->id == id ? found : nullptr;
  }
  /// Ids of the entries that a user may have meant, nearest first; none where no name is like it (NameIndex::nearest).
  std::vector<std::string> nearest_ids(const std::string& name, std::size_t count = 3) const {
    std::vector<std::string> ids;
    for (std::size_t place : names_.nearest(name, count)) ids.push_back(entries_[place].id);
    return ids;
  }
  /// The same behind a message that an entry is missing: "nearest: h100-sxm, h200".
  std::string nearest_text(const std::string& name) const {
    const std::vector<std::string> ids = nearest_ids(name);
    return ids.empty() ? "no name is near it" : "nearest: " + joined(ids);
  }

  /// Adds an entry with its id and these names. Returns the entry that has one of them already; nullptr: it was added.
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
