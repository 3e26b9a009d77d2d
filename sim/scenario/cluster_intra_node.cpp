#include <algorithm>

#include "sim/scenario/cluster_read.hpp"

namespace lockstep::sim {

int PcieTreeSpec::switch_of(int gpu) const {
  for (std::size_t s = 0; s < switches.size(); ++s)
    if (std::count(switches[s].gpus.begin(), switches[s].gpus.end(), gpu) > 0) return static_cast<int>(s);
  return -1;
}

int PcieTreeSpec::sockets() const {
  int last = -1;
  for (const SwitchSpec& pcie_switch : switches) last = std::max(last, pcie_switch.socket);
  return last + 1;
}

int NvlinkMeshSpec::links_between(int a, int b) const {
  for (const NvlinkPairSpec& pair : pairs)
    if ((pair.a == a && pair.b == b) || (pair.a == b && pair.b == a)) return pair.links;
  return 0;
}

namespace cluster_read {
namespace {

constexpr int kMostSockets = 16;
constexpr int kMostNvlinks = 72;  // between two GPUs

// Links that a copy passes: GPU, switch, root complex (host memory), and back, or on to the other socket's.
constexpr LinkPlace kGpuLink{2, 2, false}, kUplink{4, 2, false}, kSocketLink{5, 3, false};
constexpr LinkPlace kOneNvlink{1, 0, true}, kToNvswitch{2, 0, false}, kOwnPcie{0, 1, false};

void check_every_gpu_once(const JsonNode& switches, const std::vector<int>& switch_of_gpu) {
  for (std::size_t gpu = 0; gpu < switch_of_gpu.size(); ++gpu)
    if (switch_of_gpu[gpu] < 0)
      switches.fail("GPU " + std::to_string(gpu) + " is at no switch",
                    "allowed: every GPU from 0 to " + std::to_string(switch_of_gpu.size() - 1) + " at one switch");
}

std::vector<SwitchSpec> read_switches(const JsonNode& node, int gpus_per_node) {
  std::vector<SwitchSpec> switches;
  std::vector<int> switch_of_gpu(static_cast<std::size_t>(gpus_per_node), -1);
  for (const JsonNode& item : node.items()) {
    item.keys({"socket", "gpus"});
    SwitchSpec pcie_switch;
    pcie_switch.socket = static_cast<int>(item.at("socket").integer(0, kMostSockets - 1));
    for (const JsonNode& number : item.at("gpus").items()) {
      const int gpu = static_cast<int>(number.integer(0, gpus_per_node - 1));
      int& owner = switch_of_gpu[static_cast<std::size_t>(gpu)];
      if (owner >= 0) number.fail("GPU " + std::to_string(gpu) + " is already at switch " + std::to_string(owner));
      owner = static_cast<int>(switches.size());
      pcie_switch.gpus.push_back(gpu);
    }
    switches.push_back(std::move(pcie_switch));
  }
  check_every_gpu_once(node, switch_of_gpu);
  return switches;
}

PcieTreeSpec read_pcie_tree(const JsonNode& node, int gpus_per_node, const calib::Profile* profile) {
  PcieTreeSpec tree;
  tree.switches = read_switches(node.at("switches"), gpus_per_node);
  tree.gpu_link = read_link(node.at("gpu_link"), profile, kGpuLink);
  tree.switch_uplink = read_link(node.at("switch_uplink"), profile, kUplink);
  if (tree.sockets() > 1 || node.has("socket_link"))
    tree.socket_link = read_link(node.at("socket_link"), profile, kSocketLink);
  if (const auto peer = node.find("peer_across_sockets")) tree.peer_across_sockets = peer->boolean();
  return tree;
}

NvlinkPairSpec read_nvlink_pair(const JsonNode& node, int gpus_per_node) {
  const std::vector<JsonNode> numbers = node.items();
  if (numbers.size() != 3)
    node.fail("expected 3 numbers, got " + std::to_string(numbers.size()), "allowed: [GPU, GPU, number of links]");
  const NvlinkPairSpec pair{static_cast<int>(numbers[0].integer(0, gpus_per_node - 1)),
                            static_cast<int>(numbers[1].integer(0, gpus_per_node - 1)),
                            static_cast<int>(numbers[2].integer(1, kMostNvlinks))};
  if (pair.a == pair.b) node.fail("GPU " + std::to_string(pair.a) + " is linked to itself");
  return pair;
}

NvlinkMeshSpec read_nvlink_mesh(const JsonNode& node, int gpus_per_node, const calib::Profile* profile) {
  NvlinkMeshSpec mesh;
  mesh.link = read_link(node.at("link"), profile, kOneNvlink);
  for (const JsonNode& item : node.at("links").items()) {
    const NvlinkPairSpec pair = read_nvlink_pair(item, gpus_per_node);
    if (mesh.links_between(pair.a, pair.b) > 0)
      item.fail("GPUs " + std::to_string(pair.a) + " and " + std::to_string(pair.b) + " are already linked",
                "allowed: one entry with the number of links");
    mesh.pairs.push_back(pair);
  }
  return mesh;
}

}  // namespace

IntraNodeSpec read_intra_node(const JsonNode& node, int gpus_per_node, const calib::Profile* profile) {
  const std::string kind = node.at("kind").choice({"pcie-tree", "nvlink-mesh", "nvswitch"});
  IntraNodeSpec spec;
  if (kind == "pcie-tree") {
    node.keys({"kind", "switches", "gpu_link", "switch_uplink", "socket_link", "peer_across_sockets"});
    spec.kind = IntraNodeKind::pcie_tree;
    spec.pcie = read_pcie_tree(node, gpus_per_node, profile);
  } else if (kind == "nvlink-mesh") {
    node.keys({"kind", "link", "links", "pcie"});
    spec.kind = IntraNodeKind::nvlink_mesh;
    spec.mesh = read_nvlink_mesh(node, gpus_per_node, profile);
    const JsonNode pcie = node.at("pcie");
    pcie.keys({"switches", "gpu_link", "switch_uplink", "socket_link", "peer_across_sockets"});
    spec.pcie = read_pcie_tree(pcie, gpus_per_node, profile);
  } else {
    node.keys({"kind", "gpu_link", "pcie_link"});
    spec.kind = IntraNodeKind::nvswitch;
    spec.gpu_link = read_link(node.at("gpu_link"), profile, kToNvswitch);
    spec.pcie.gpu_link = read_link(node.at("pcie_link"), profile, kOwnPcie);
  }
  return spec;
}

}  // namespace cluster_read
}  // namespace lockstep::sim
