// Builds the cluster of a job.
#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/network_port.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim {
inline namespace stack {
namespace {

constexpr int kMostGpusOfANode = 16;

std::string usual_for(const GpuEntry& gpu) {
  return "usual for " + gpu.name;
}

const IntraNodeEntry& intra_node_of(StackModel& m, int gpus_of_node) {
  const NamedFact& link = m.job.link;
  if (link.is_known()) {
    const IntraNodeEntry& entry = m.catalogue.intra_node_by_id(link.id);
    const std::string why_not = m.catalogue.why_no_link(*m.gpu, entry);
    if (gpus_of_node > 1 && !why_not.empty()) throw InputError("link: " + why_not);
    // NVIDIA/nccl-tests issue 178: two A100 with a bridge reach 208 GB/s, three of two bridged pairs 20 GB/s.
    const bool is_of_pairs = entry.share_of_bridge > 0 && gpus_of_node > m.gpu->bridged_gpus && !is_split(m.job);
    if (is_of_pairs) {
      m.assume("intra_node_link", m.gpu->intra_node, "rings pass PCIe between cards that no bridge joins");
      return m.catalogue.intra_node_by_id(m.gpu->intra_node);
    }
    m.list_assumed("intra_node_link", link.id, "link");
    return entry;
  }
  if (link.stated.empty() || gpus_of_node == 1) {
    const IntraNodeEntry& entry = m.catalogue.intra_node_by_id(m.gpu->intra_node);
    const std::string why = link.stated.empty() ? m.job.why_assumed("link") : "one GPU per node";
    if (why.empty())
      m.assume_default("intra_node_link", entry.id, usual_for(*m.gpu));
    else
      m.assume("intra_node_link", entry.id, why + "; " + usual_for(*m.gpu));
    return entry;
  }
  throw Unmapped{"intra_node_link " + in_quotes(link.stated) + " is not in the catalogue" + link.why_not};
}

int gpus_per_node_of(StackModel& m, int gpus) {
  if (m.job.gpus_per_node > 0) {
    m.list_assumed("gpus_per_node", m.job.gpus_per_node, "gpus_per_node");
    return m.job.gpus_per_node;
  }
  const bool one_node = m.job.network.is_none;
  const int tray = m.gpu->gpus_per_tray;
  const int usual = tray > 0 ? joined_node(tray, m.gpu->nvlink_domain, {gpus}).gpus : kUsualGpusPerNode;
  const int guess = one_node && gpus <= kMostGpusOfANode ? gpus : std::min(usual, std::max(1, gpus));
  if (one_node && guess == gpus)
    m.assume("gpus_per_node", guess, "no network: one node");
  else
    m.assume_default("gpus_per_node", guess, "");
  return guess;
}

PcieTreeSpec pcie_tree(const IntraNodeEntry& entry, int gpus_per_node, double share) {
  PcieTreeSpec tree;
  for (int gpu = 0; gpu < gpus_per_node; ++gpu) {
    const int number = gpu / entry.gpus_per_switch;
    if (number == static_cast<int>(tree.switches.size()))
      tree.switches.push_back({number / entry.switches_per_socket, {}});
    tree.switches.back().gpus.push_back(gpu);
  }
  const auto scaled = [&](LinkSpec link) {
    link.bandwidth_bytes_per_s *= share;
    return link;
  };
  tree.gpu_link = scaled(entry.gpu_link);
  tree.switch_uplink = scaled(entry.switch_uplink);
  tree.socket_link = scaled(entry.socket_link);
  tree.peer_across_sockets = entry.peer_across_sockets;
  return tree;
}

// Bandwidth of NCCL's all-reduce through shared host memory, over that of a PCIe slot. It reaches 3.9 GB/s in both
// directions at once. Copies in one direction reach 12 GB/s.
constexpr double kShareThroughHost = 3.9 / 12;

// Without peer access, NCCL's SHM transport goes through host memory: the GPUs' kernels write to it and read from it.
void stage_in_host_memory(StackModel& m, PcieTreeSpec& tree) {
  tree.host_staging = tree.gpu_link;
  tree.host_staging.bandwidth_bytes_per_s *= kShareThroughHost;
  m.assume("bytes/s through host memory, over those of PCIe", kShareThroughHost,
           "NVIDIA/nccl issue 384: all-reduce by shared memory at 3.9 GB/s on PCIe 3.0 x16; " + m.gpu->name +
               " has no peer access over PCIe");
}

constexpr double kSocketBytesPerS = 4e9;

// Returns the bandwidth that NCCL reaches on a port by TCP. NCCL opens several sockets per connection only for network
// adapters of clouds that it knows. Otherwise one thread serves one socket (NCCL 2.28, transport/net_socket.cc:
// NCCL_SOCKET_NTHREADS 0, NCCL_NSOCKS_PERTHREAD 1).
double by_socket(StackModel& m, const NetworkEntry& network, double bytes_per_s) {
  const bool is_plain = !network.rdma && !network.is_whole_node && m.job.transport == Transport::nccl;
  if (!is_plain || bytes_per_s <= kSocketBytesPerS) return bytes_per_s;
  m.assume("bytes/s of a socket", kSocketBytesPerS,
           "docs.nvidia.com, AI Cluster Runtime, GKE TCPXO: NCCL falls back to TCP, about 4 GB/s");
  return kSocketBytesPerS;
}

/// The network ports of a node, as applications see them.
struct Ports {
  const NetworkEntry* entry = nullptr;
  int count = 1;
  double bytes_per_s = 0;  ///< bandwidth of one port

  double all_bytes_per_s() const { return count * bytes_per_s; }
  /// A GPU uses one NIC. If a node has more ports than GPUs, a NIC stands for several ports.
  int nics(int gpus_per_node) const { return std::min(count, gpus_per_node); }
};

constexpr double kBetweenSockets = 40e9;  // bytes/s; NCCL's rings and trees on such nodes do not cross it

// Connects each pair of GPUs by links of its own, and each GPU to its NIC by PCIe.
IntraNodeSpec direct_node(const IntraNodeEntry& board, const LinkSpec& bus, double nic_bytes_per_s, int gpus_per_node) {
  if (gpus_per_node > kGpusWithoutSwitch)
    throw Unmapped{board.name + " joins " + std::to_string(kGpusWithoutSwitch) + " GPUs, not " +
                   std::to_string(gpus_per_node)};
  IntraNodeSpec node;
  node.kind = IntraNodeKind::nvlink_mesh;
  const int links = board.links_per_pair * (kGpusWithoutSwitch - 1);
  node.mesh.link = {bus.bandwidth_bytes_per_s / links, bus.latency_s};
  for (int a = 0; a < gpus_per_node; ++a) {
    node.pcie.switches.push_back({2 * a / gpus_per_node, {a}});
    for (int b = a + 1; b < gpus_per_node; ++b) node.mesh.pairs.push_back({a, b, board.links_per_pair});
  }
  node.pcie.gpu_link = node.pcie.switch_uplink = {std::max(12e9, nic_bytes_per_s), 0.4e-6};
  node.pcie.socket_link = {std::max(kBetweenSockets, nic_bytes_per_s), 0.4e-6};
  return node;
}

// All of NCCL's rings together are modelled as one ring of the same bandwidth on the switch. The path from a GPU to its
// NIC is at least as wide as the NIC.
IntraNodeSpec nvlink_node(const LinkSpec& bus, double nic_bytes_per_s) {
  IntraNodeSpec node;
  node.kind = IntraNodeKind::nvswitch;
  node.gpu_link = {bus.bandwidth_bytes_per_s, bus.latency_s / 2};
  node.pcie.gpu_link = {std::max(12e9, nic_bytes_per_s), 0.4e-6};
  return node;
}

Ports ports_of(const NetworkEntry& entry, int count, double bytes_per_s) {
  if (entry.is_whole_node) return {&entry, entry.node_ports, bytes_per_s / entry.node_ports};
  return {&entry, count, bytes_per_s};
}

// Returns the GPU's default network for a node with this number of GPUs.
std::optional<NetworkFound> usual_network(const StackModel& m, int gpus_per_node = kUsualGpusPerNode) {
  return read_network(m.catalogue.networks, m.gpu->network, gpus_per_node).found;
}

Ports default_network(StackModel& m, int gpus_per_node, const std::string& why) {
  const bool is_of_rack = m.gpu->gpus_per_tray > 0;
  const std::optional<NetworkFound> usual = usual_network(m, is_of_rack ? gpus_per_node : kUsualGpusPerNode);
  if (!usual) throw Unmapped{"no usual network for " + m.gpu->name};
  if (why.empty())
    m.assume_default("network", m.gpu->network, usual_for(*m.gpu));
  else
    m.assume("network", m.gpu->network, why + "; " + usual_for(*m.gpu));
  return ports_of(*usual->entry, usual->ports, usual->port_bytes_per_s);
}

// Finds the cloud's machine that a network of this kind and rate and the GPU identify; nullptr: none.
const NetworkEntry* machine_by_signs(const StackModel& m, const NetworkEntry& network, double node_bits_per_s,
                                     int gpus_per_node) {
  if (gpus_per_node != kUsualGpusPerNode) return nullptr;
  for (const NetworkEntry& machine : m.catalogue.networks)
    if (machine.signs && machine.signs->network == network.id && machine.signs->gpus.count(m.gpu->id) > 0 &&
        std::abs(machine.signs->node_bits_per_s / node_bits_per_s - 1) < 0.01)
      return &machine;
  return nullptr;
}

Ports network_of(StackModel& m, int gpus_per_node) {
  const NetworkStated& network = m.job.network;
  if (!network.why_not.empty()) throw Unmapped{network.why_not};
  if (network.id.empty()) return default_network(m, gpus_per_node, m.job.why_assumed("network"));
  const NetworkEntry* entry = m.catalogue.networks.with_id(network.id);
  Ports ports = ports_of(*entry, network.count, port_bytes_per_s(*entry, network.rate_bits_per_s));
  if (entry->is_whole_node) ports.count *= m.job.trays;
  if (ports.bytes_per_s <= 0) return default_network(m, gpus_per_node, network.id + ": rate not stated");
  if (m.list_assumed("network", network.id, "network")) return ports;
  m.list_assumed("network kind", entry->name, "network kind");
  m.list_assumed("network ports per node", ports.count, "network ports");
  if (!network.is_count_stated) {
    const std::optional<NetworkFound> usual = usual_network(m);
    if (usual && usual->entry == entry && m.job.gpus_per_node >= kUsualGpusPerNode) ports.count = usual->ports;
    m.assume_default("network ports per node", ports.count, "");
  }
  const double line_bits_per_s = network.rate_bits_per_s > 0 ? network.rate_bits_per_s : entry->line_bits_per_s;
  const double node_bits_per_s = ports.count * line_bits_per_s;
  if (const NetworkEntry* machine = machine_by_signs(m, *entry, node_bits_per_s, gpus_per_node)) {
    m.assume("machine", machine->name, entry->name + " of that rate beside these GPUs");
    entry = machine;
    ports = ports_of(*machine, machine->node_ports, machine->port_bytes_per_s);
  }
  m.note("network", entry->facts);
  return ports;
}

// Returns the names of the constants for the share of a port that software reaches. NCCL plugins of clouds have shares
// of their own. If NICs cannot access GPU memory, NCCL copies through host memory. The share includes that cost,
// because no record says which links of the server are crossed twice.
std::vector<std::string> names_of_network_share(const StackModel& m, const NetworkEntry& network) {
  const std::string of_kind = std::string("network share/") + (network.rdma ? "rdma" : "tcp");
  const std::string of_transport = of_kind + "/" + name_of(m.job.transport);
  if (m.job.transport != Transport::nccl || !network.rdma) return {of_transport, of_kind};
  if (network.has_slow_plugin)
    return {of_transport + "/plugin/" + network.id, of_transport + "/plugin", of_transport, of_kind};
  if (!m.gpu->has_gpudirect) return {of_transport + "/by host memory", of_transport, of_kind};
  return {of_transport, of_kind};
}

void set_network(StackModel& m, ClusterSpec& cluster, const Ports& ports) {
  const std::string kind = ports.entry->rdma ? "rdma" : "tcp";
  const double share = m.constant(names_of_network_share(m, *ports.entry));
  m.network = ports.entry;
  const int nics = ports.nics(cluster.gpus_per_node);
  cluster.nic.per_node = nics;
  cluster.nic.link.bandwidth_bytes_per_s = share * ports.all_bytes_per_s() / nics;
  cluster.nic.link.latency_s = ports.entry->latency_s / 2 + m.constant({"network hop/" + kind}) / 2;
  cluster.nic.gpudirect = ports.entry->rdma;
  const int switches = static_cast<int>(cluster.intra_node.pcie.switches.size());  // no switches in an NVLink node
  for (int nic = 0; switches > 0 && nic < nics; ++nic) cluster.nic.attach.push_back(nic * switches / nics);
  cluster.fabric.kind = FabricKind::star;
  // NCCL's tables assume the port's nominal bandwidth; sockets limit the achieved one.
  cluster.fabric.link = {ports.count * by_socket(m, *ports.entry, share * ports.bytes_per_s), 0.2e-6};
}

// Returns the names of the constants for the share of a node's links that software reaches. If GPUs have no peer access
// across sockets, they reach only half of a PCIe slot, even below one switch. Servers of every vendor show this.
std::vector<std::string> names_of_share(const std::string& transport, const IntraNodeEntry& node) {
  const std::string of_transport = "link share/" + transport + "/", kind = node.is_nvlink ? "/nvlink" : "/pcie";
  std::vector<std::string> names{of_transport + node.id};
  if (!node.is_nvlink && !node.peer_across_sockets) names.push_back(of_transport + "sockets apart");
  names.push_back(of_transport + "any" + kind);
  names.push_back("link share" + kind);
  return names;
}

// Returns the id of the PCIe slots of a GPU's generation: PCIe 3 up to Turing, 4 for Ampere and Ada, 5 since Hopper.
const char* slots_of(const GpuEntry& gpu) {
  return gpu.compute_capability >= 9 ? "pcie5" : gpu.compute_capability >= 8 ? "pcie4" : "pcie";
}

// If a job offloads to the host, gives a GPU on NVLink the bandwidth of its PCIe slot.
void set_host_link(StackModel& m, ClusterSpec& cluster) {
  const ParallelSpec& split = m.job.split.values;
  const bool has_slot = cluster.intra_node.kind != IntraNodeKind::pcie_tree && cluster.gpu.host_link_bytes_per_s == 0;
  if (!has_slot || (split.offload_layers == 0 && !split.offloads_optimizer)) return;
  const IntraNodeEntry& slots = m.catalogue.intra_node_by_id(slots_of(*m.gpu));
  cluster.gpu.host_link_bytes_per_s = slots.gpu_link.bandwidth_bytes_per_s;
  m.assume("bytes/s between a GPU and host memory", cluster.gpu.host_link_bytes_per_s,
           slots.name + " of its generation");
}

}  // namespace

ClusterSpec cluster_of(StackModel& m, int gpus) {
  ClusterSpec cluster;
  cluster.name = m.gpu->name;
  cluster.gpus_per_node = gpus_per_node_of(m, gpus);
  cluster.nodes = cluster.nodes_for(gpus);
  cluster.gpu = m.gpu->spec;
  m.intra_node = &intra_node_of(m, cluster.gpus_per_node);
  const IntraNodeEntry& node = m.catalogue.figures_of(*m.intra_node);
  const bool has_network = cluster.nodes > 1;
  std::optional<Ports> network;
  if (has_network) network = network_of(m, cluster.gpus_per_node);
  const double nics = network ? network->all_bytes_per_s() : 0;
  const double share = cluster.gpus_per_node > 1 ? m.constant(names_of_share(name_of(m.job.transport), node)) : 1.0;
  if (node.is_nvlink) {
    LinkSpec bus = m.catalogue.nvlink_of(*m.intra_node, *m.gpu);
    bus.bandwidth_bytes_per_s *= share;
    const double nic = network ? nics / network->nics(cluster.gpus_per_node) : 0;
    const bool has_switch = m.intra_node->board_of.empty();
    cluster.intra_node =
        has_switch ? nvlink_node(bus, nic) : direct_node(*m.intra_node, bus, nic, cluster.gpus_per_node);
  } else {
    cluster.intra_node.kind = IntraNodeKind::pcie_tree;
    cluster.intra_node.pcie = pcie_tree(node, cluster.gpus_per_node, share);
    if (!m.gpu->has_pcie_peers && cluster.gpus_per_node > 1) stage_in_host_memory(m, cluster.intra_node.pcie);
  }
  set_host_link(m, cluster);
  if (cluster.gpus_per_node > 1) m.note("intra_node_link", node.facts);
  cluster.host.memory_bandwidth_bytes_per_s = std::max(node.host_memory_bytes_per_s, network ? 2 * nics : 0.0);
  cluster.host.memory_latency_s = 5e-6;
  if (network) set_network(m, cluster, *network);
  m.node_line_bytes_per_s = network ? network->count * line_rate_of(*network->entry, network->bytes_per_s) / 8 : 0;
  return cluster;
}

}  // namespace stack
}  // namespace lockstep::sim
