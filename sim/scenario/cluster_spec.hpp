#pragma once
// The parts of a cluster as plain values in SI units. JSON, schema "lockstep/cluster/1"; cluster_spec.cpp and README.md
// describe its fields.
//
// Every bandwidth is per direction and as applications see it (what a copy reaches). Every latency is the part's share
// of a message's time. The fabric's latency is that of each of its links on a route (a star counts as one link). A node
// is one port of the fabric, whatever its number of NICs.
#include <string>
#include <utility>
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::scenario {

struct LinkSpec {
  double bandwidth_bytes_per_s = 0;  ///< per direction
  double latency_s = 0;
};

/// Memory that PyTorch occupies once there is a tensor on the GPU: the CUDA context and the loaded kernels, 1,343 MB
/// (Hugging Face, "Model training anatomy"). It excludes communicators and the allocator's rounding.
constexpr double kReservedBytes = 1.343e9;

struct GpuSpec {
  std::string name;
  double memory_bytes = 0;
  double reserved_bytes = kReservedBytes;  ///< part of it that driver and framework take before training
  double memory_bandwidth_bytes_per_s = 0;
  double host_link_bytes_per_s = 0;  ///< to and from host memory, each way; 0: as the GPU's PCIe path
  int multiprocessors = 0;           ///< NCCL's kernels hold some of them (thread_blocks()); 0: not given
  double fp32_flops = 0;
  double tf32_flops = 0;  ///< 0: not given, as for the next four
  double fp16_flops = 0;
  double bf16_flops = 0;
  double fp8_flops = 0;
  double fp4_flops = 0;

  /// FLOP/s; 0 if the cluster file does not give it. `mixed` is the faster of fp16 and fp32.
  double peak_flops(Precision precision) const;
};

struct HostSpec {
  double memory_bandwidth_bytes_per_s =
      0;                        ///< of copies staged through host memory, per socket, both directions together
  double memory_latency_s = 0;  ///< of each such staging
  int cores = 0;                ///< 0: not given
};

struct SwitchSpec {
  int socket = 0;
  std::vector<int> gpus;
};

/// Describes the PCIe switches below the root complexes of one or more sockets.
struct PcieTreeSpec {
  std::vector<SwitchSpec> switches;
  LinkSpec gpu_link;
  LinkSpec switch_uplink;
  LinkSpec socket_link;
  bool peer_across_sockets = true;
  LinkSpec host_staging;  ///< bandwidth of messages from a GPU through host memory; 0: GPUs reach each other

  bool has_peers() const { return host_staging.bandwidth_bytes_per_s == 0; }
  int switch_of(int gpu) const;  ///< index in `switches`, -1 if there is none
  int sockets() const;
};

struct NvlinkPairSpec {
  int a = 0;
  int b = 0;
  int links = 1;
};

struct NvlinkMeshSpec {
  LinkSpec link;
  std::vector<NvlinkPairSpec> pairs;

  int links_between(int a, int b) const;  ///< 0 if there is none
};

enum class IntraNodeKind { pcie_tree, nvlink_mesh, nvswitch };

inline const Choices<IntraNodeKind>& choices_of(IntraNodeKind) {
  static const Choices<IntraNodeKind> all{{IntraNodeKind::pcie_tree, "pcie-tree"},
                                          {IntraNodeKind::nvlink_mesh, "nvlink-mesh"},
                                          {IntraNodeKind::nvswitch, "nvswitch"}};
  return all;
}

struct IntraNodeSpec {
  IntraNodeKind kind = IntraNodeKind::pcie_tree;
  PcieTreeSpec pcie;    ///< nvswitch: no switches, and gpu_link is the GPU's PCIe path to host and NIC
  NvlinkMeshSpec mesh;  ///< nvlink-mesh
  LinkSpec gpu_link;    ///< nvswitch
};

struct NicSpec {
  int per_node = 0;  ///< 0: a server without network
  LinkSpec link;
  bool gpudirect = true;     ///< false: through host memory at both ends
  std::vector<int> attach;   ///< per NIC, the index of its PCIe switch; empty for nvswitch
  bool half_duplex = false;  ///< both directions together share the bandwidth
};

enum class FabricKind { star, fat_tree, torus, dragonfly };

inline const Choices<FabricKind>& choices_of(FabricKind) {
  static const Choices<FabricKind> all{{FabricKind::star, "star"},
                                       {FabricKind::fat_tree, "fat-tree"},
                                       {FabricKind::torus, "torus"},
                                       {FabricKind::dragonfly, "dragonfly"}};
  return all;
}

struct FatTreeSpec {
  std::vector<int> down;          ///< children of a switch, lowest level first; their product is the number of places
  std::vector<int> up;            ///< parents of a child
  std::vector<int> count;         ///< parallel links between a child and each of its parents
  std::vector<LinkSpec> links{};  ///< of each level, up to its parents; empty: FabricSpec::link everywhere
};

struct DragonflySpec {
  std::pair<int, int> groups{1, 1};   ///< number, links between two groups
  std::pair<int, int> chassis{1, 1};  ///< per group, links
  std::pair<int, int> routers{1, 1};  ///< per chassis, links
  int nodes = 1;                      ///< per router
};

/// How a switch of a fat tree chooses among its ports towards the destination.
enum class Routing {
  d_mod_k,  ///< by the destination's number: flows to different nodes of a leaf take different ports
  ecmp      ///< by a hash of the connection's two ends, so that connections can collide on a port
};

inline const Choices<Routing>& choices_of(Routing) {
  static const Choices<Routing> all{{Routing::d_mod_k, "d-mod-k"}, {Routing::ecmp, "ecmp"}};
  return all;
}

struct FabricSpec {
  FabricKind kind = FabricKind::star;
  LinkSpec link;  ///< of one hop
  FatTreeSpec fat_tree;
  Routing routing = Routing::d_mod_k;
  int hash = 0;     ///< of ecmp: number of the hash function; 0: the prediction covers `hashes` of them
  int hashes = 20;  ///< of ecmp
  std::vector<int> torus;
  DragonflySpec dragonfly;

  long places() const;                  ///< number of nodes that it can connect; 0 for a star: any number
  void scale_bandwidth(double factor);  ///< of all links
  void scale_latency(double factor);
};

/// A NIC or link that carries less than it should, or nothing.
struct FaultSpec {
  int node = -1, nic = -1;     ///< of a NIC; a dead one leaves its GPUs to the node's other NICs
  std::string link;            ///< otherwise the name of a link, without .up or .down for both directions
  double bandwidth_share = 0;  ///< of its bandwidth that is left; 0: dead
};

struct ClusterSpec {
  std::string name;
  std::string description;
  int nodes = 1;  ///< at most
  int gpus_per_node = 1;
  GpuSpec gpu;
  HostSpec host;
  IntraNodeSpec intra_node;
  NicSpec nic;
  FabricSpec fabric;
  std::vector<int> nodes_used;  ///< nodes of the job by rank, numbered from 0; empty: the first ones
  std::vector<FaultSpec> faults;

  /// Returns the number of nodes that hold `gpus` GPUs.
  int nodes_for(int gpus) const { return (gpus + gpus_per_node - 1) / gpus_per_node; }
  int nic_of(int local_gpu) const { return local_gpu * nic.per_node / gpus_per_node; }
  /// Returns the bandwidth between a GPU and host memory, each way.
  double host_link_bytes_per_s() const {
    return gpu.host_link_bytes_per_s > 0 ? gpu.host_link_bytes_per_s : intra_node.pcie.gpu_link.bandwidth_bytes_per_s;
  }
};

const ObjectFormat<ClusterSpec>& cluster_format();

/// Reads and checks the cluster. Throws InputError: `FILE: /pointer: what is wrong; what is allowed`.
ClusterSpec read_cluster(const JsonNode& node);

}  // namespace lockstep::sim::scenario
