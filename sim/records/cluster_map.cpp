// The machine of a record.
#include <algorithm>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/names.hpp"
#include "sim/records/names_in_texts.hpp"
#include "sim/records/network_text.hpp"

namespace lockstep::sim {
namespace {

constexpr int kMostGpusOfANode = 16;
constexpr double kSlowest = 2e9;  // bit/s below which a network cannot be what V100 and later train over

const IntraNodeEntry& default_intra_node(Mapping& m, const std::string& why) {
  const IntraNodeEntry& entry = m.catalogue.intra_node_by_id(m.gpu->intra_node);
  m.assume("intra_node_link", entry.id, why + "; usual for " + m.gpu->name);
  return entry;
}

// "PCI-Express 3.0", "PCI-E": PCIe.
std::string with_pcie(const std::string& text) {
  static const std::regex names(R"(pci[ -]?e(?:xpress)?(?![a-z]))", std::regex::icase);
  return std::regex_replace(text, names, "PCIe");
}

// No GPU before Ampere has PCIe 4: "PCIe, 4 per switch" means something else.
bool is_younger(const IntraNodeEntry& entry, const GpuEntry& gpu) {
  if (entry.id != "pcie4" && entry.id != "pcie5") return false;
  static const std::set<std::string> older{"kepler", "maxwell", "pascal", "volta", "turing"};
  return older.count(gpu.generation) > 0;
}

const IntraNodeEntry& intra_node_of(Mapping& m, int gpus_of_node) {
  if (m.record.names && m.record.names->intra_node != nullptr) return *m.record.names->intra_node;
  const std::string text = with_pcie(m.record.intra_node_link);
  if (says_no_network(text) || mentions(text, "not stated")) return default_intra_node(m, "not stated");
  const IntraNodeEntry* entry = intra_node_in_text(m.catalogue, text);
  if (entry != nullptr && !is_younger(*entry, *m.gpu)) return *entry;
  const IntraNodeEntry& usual = m.catalogue.intra_node_by_id(m.gpu->intra_node);
  static const std::regex count_of_links(R"(\bnv\d{1,2}\b)", std::regex::icase);  // nvidia-smi topo: "NV18"
  const bool says_nvlink = mentions(text, "nvlink") || mentions(text, "nvswitch") || mentions(text, "sxm") ||
                           std::regex_search(text, count_of_links);
  if (says_nvlink && usual.is_nvlink) return default_intra_node(m, "generation not stated");
  const auto assumed = [&](const char* id, const char* why) -> const IntraNodeEntry& {
    m.assume("intra_node_link", id, why);
    return m.catalogue.intra_node_by_id(id);
  };
  if (says_nvlink) return assumed("nvlink-bridge", "NVLink between PCIe boards: a bridge");
  for (const char* word : {"pci", "qpi", "upi", "root", "host", "switch", "plx", "pix", "pxb", "phb", "sys", "sli"})
    if (mentions(text, word))
      return usual.is_nvlink ? assumed("pcie", "generation not stated")
                             : default_intra_node(m, "generation not stated");
  if (gpus_of_node == 1) return default_intra_node(m, "one GPU per node");
  throw Unmapped{"intra_node_link " + in_quotes(text) + " is not in the catalogue"};
}

int gpus_per_node_of(Mapping& m, int gpus) {
  if (m.record.gpus_per_node > 0) return m.record.gpus_per_node;
  const bool one_node = says_no_network(m.record.network);
  const int guess = one_node && gpus <= kMostGpusOfANode ? gpus : std::min(8, std::max(1, gpus));
  m.assume("gpus_per_node", guess, one_node && guess == gpus ? "no network: one node" : "not stated");
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

// What all rings together carry is what one ring on the switch carries. The way to the network must not be narrower
// than the NICs, which are taken together as well.
IntraNodeSpec nvlink_node(const IntraNodeEntry& entry, double share, double nics_bytes_per_s) {
  IntraNodeSpec node;
  node.kind = IntraNodeKind::nvswitch;
  node.gpu_link = {entry.bus.bandwidth_bytes_per_s * share, entry.bus.latency_s / 2};
  node.pcie.gpu_link = {std::max(12e9, nics_bytes_per_s), 0.4e-6};
  return node;
}

NetworkFound default_network(Mapping& m, const std::string& why) {
  const std::optional<NetworkFound> usual = read_network_text(m.catalogue, m.gpu->network);
  if (!usual) throw Unmapped{"no usual network for " + m.gpu->name};
  m.assume("network", m.gpu->network, why + "; usual for " + m.gpu->name);
  return *usual;
}

NetworkFound network_of(Mapping& m) {
  if (m.record.names && m.record.names->network) {
    const NetworkFound& stated = *m.record.names->network;
    if (stated.is_kind_assumed)
      m.assume("network kind", stated.entry->name, "not stated; a rate alone is InfiniBand from 56 Gb/s on, else TCP");
    if (!stated.ports_stated) m.assume("network ports per node", stated.ports, "not stated");
    m.note("network", stated.entry->facts);
    return stated;
  }
  if (m.record.names) return default_network(m, "not stated");
  const std::string& text = m.record.network;
  if (says_no_network(text)) {
    // "AWS p4d.24xlarge", "ND_H100_v5": the machine says it.
    const std::optional<NetworkFound> of_system = read_network_text(m.catalogue, m.record.system);
    if (of_system && of_system->port_bytes_per_s > 0 && of_system->line_bits_per_s == 0) {
      m.assume("network", of_system->entry->id, "not stated; that of " + m.record.system);
      return *of_system;
    }
    return default_network(m, "not stated");
  }
  if (mentions(text, "data cent")) throw Unmapped{"network " + in_quotes(text) + ": neither type nor rate is stated"};
  std::optional<NetworkFound> found = read_network_text(m.catalogue, text);
  if (!found) {
    if (mentions(text, "see system") || mentions(text, "not stated")) return default_network(m, "not stated");
    throw Unmapped{"network " + in_quotes(text) + " is not in the catalogue"};
  }
  const bool modern = m.gpu->spec.fp16_flops > 50e12;
  // MLPerf's system descriptions list every network, the management's among them.
  const bool is_mlperf = m.stack->id.rfind("mlperf", 0) == 0;
  if (is_mlperf && modern && found->line_bits_per_s > 0 && found->line_bits_per_s * found->ports < kSlowest)
    return default_network(m, text + " is taken for the management network");
  if (found->port_bytes_per_s <= 0 || (found->entry->id == "ib" && found->line_bits_per_s == 0 && modern))
    return default_network(m, text + ": rate not stated");
  if (!found->ports_stated) {
    const std::optional<NetworkFound> usual = read_network_text(m.catalogue, m.gpu->network);
    if (usual && usual->entry == found->entry && m.record.gpus_per_node >= 8) found->ports = usual->ports;
    m.assume("network ports per node", found->ports, "not stated");
  }
  m.note("network", found->entry->facts);
  return *found;
}

void set_network(Mapping& m, ClusterSpec& cluster, const NetworkFound& network) {
  const std::string kind = network.entry->rdma ? "rdma" : "tcp";
  const double share = m.constant({"network share/" + kind + "/" + m.transport, "network share/" + kind}, 0.8);
  cluster.nic.per_node = 1;
  cluster.nic.link.bandwidth_bytes_per_s = network.ports * network.port_bytes_per_s * share;
  cluster.nic.link.latency_s = network.entry->latency_s / 2 + m.constant({"network hop/" + kind}, 2e-6) / 2;
  cluster.nic.gpudirect = network.entry->rdma;
  if (cluster.intra_node.kind == IntraNodeKind::pcie_tree) cluster.nic.attach = {0};
  cluster.fabric.kind = FabricKind::star;
  cluster.fabric.link = {cluster.nic.link.bandwidth_bytes_per_s, 0.2e-6};
}

// What software reaches of a node's links. GPUs of servers whose sockets are apart for peers show half of a PCIe slot
// even below one switch, whoever built them.
std::vector<std::string> names_of_share(const std::string& transport, const IntraNodeEntry& node) {
  const std::string of_transport = "link share/" + transport + "/", kind = node.is_nvlink ? "/nvlink" : "/pcie";
  std::vector<std::string> names{of_transport + node.id};
  if (!node.is_nvlink && !node.peer_across_sockets) names.push_back(of_transport + "sockets apart");
  names.push_back(of_transport + "any" + kind);
  names.push_back("link share" + kind);
  return names;
}

}  // namespace

ClusterSpec cluster_of(Mapping& m, int gpus) {
  ClusterSpec cluster;
  cluster.name = m.record.system;
  cluster.gpus_per_node = gpus_per_node_of(m, gpus);
  cluster.nodes = (gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  cluster.gpu = m.gpu->spec;
  m.intra_node = &intra_node_of(m, cluster.gpus_per_node);
  const IntraNodeEntry& node = *m.intra_node;
  const bool has_network = cluster.nodes > 1;
  std::optional<NetworkFound> network;
  if (has_network) network = network_of(m);
  const double nics = network ? network->ports * network->port_bytes_per_s : 0;
  const double share = cluster.gpus_per_node > 1 ? m.constant(names_of_share(m.transport, node), 0.9) : 1.0;
  if (node.is_nvlink) {
    cluster.intra_node = nvlink_node(node, std::min(1.0, share), nics);
  } else {
    cluster.intra_node.kind = IntraNodeKind::pcie_tree;
    cluster.intra_node.pcie = pcie_tree(node, cluster.gpus_per_node, share);
  }
  if (cluster.gpus_per_node > 1) m.note("intra_node_link", node.facts);
  cluster.host.memory_bandwidth_bytes_per_s = std::max(node.host_memory_bytes_per_s, network ? 2 * nics : 0.0);
  cluster.host.memory_latency_s = 5e-6;
  if (network) set_network(m, cluster, *network);
  return cluster;
}

}  // namespace lockstep::sim
