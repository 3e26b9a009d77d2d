#include <algorithm>
#include <utility>

#include "sim/scenario/cluster_read.hpp"

namespace lockstep::sim::scenario {

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

// Links that a copy crosses: GPU, switch, root complex (host memory), then back, or to the other socket.
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

std::vector<NvlinkPairSpec> read_pairs(const JsonNode& node, int gpus_per_node) {
  NvlinkMeshSpec mesh;
  for (const JsonNode& item : node.items()) {
    const NvlinkPairSpec pair = read_nvlink_pair(item, gpus_per_node);
    if (mesh.links_between(pair.a, pair.b) > 0)
      item.fail("GPUs " + std::to_string(pair.a) + " and " + std::to_string(pair.b) + " are already linked",
                "allowed: one entry with the number of links");
    mesh.pairs.push_back(pair);
  }
  return mesh.pairs;
}

Json whole_schema(int low, int high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}

Json switches_schema() {
  const Json one{{"type", "object"},
                 {"properties",
                  {{"socket", whole_schema(0, kMostSockets - 1)},
                   {"gpus", {{"type", "array"}, {"items", whole_schema(0, kMostGpusPerNode - 1)}}}}},
                 {"required", {"socket", "gpus"}},
                 {"additionalProperties", false}};
  return {{"type", "array"}, {"items", one}};
}

ObjectFormat<PcieTreeSpec> pcie_tree_format(int gpus_per_node, const calib::Profile* profile) {
  using Spec = PcieTreeSpec;
  ObjectFormat<Spec> f("pcie-tree");
  auto switches =
      f.custom("switches", "array of `{\"socket\", \"gpus\"}`",
               "socket 0 to 15; GPUs 0 to `gpus_per_node` - 1, each at exactly one switch", switches_schema());
  switches.means("switches of the node; their index is used by `nic/attach`");
  switches.reads([=](const JsonNode& node, Spec& tree) { tree.switches = read_switches(node, gpus_per_node); });
  switches.writes([](const Spec& tree) {
    Json list = Json::array();
    for (const SwitchSpec& one : tree.switches) list.push_back({{"socket", one.socket}, {"gpus", one.gpus}});
    return list;
  });
  add_link(f, "gpu_link", &Spec::gpu_link, profile, kGpuLink).means("GPU to its switch; also the copy of the input");
  add_link(f, "switch_uplink", &Spec::switch_uplink, profile, kUplink).means("switch to its socket's root complex");
  add_link(f, "socket_link", &Spec::socket_link, profile, kSocketLink)
      .optional("required if a switch has a socket above 0")
      .means("between two sockets (QPI, UPI)");
  f.boolean("peer_across_sockets", &Spec::peer_across_sockets)
      .optional("`true`")
      .means(
          "`false`: messages between GPUs of different sockets are staged in host memory of the sender's socket, "
          "those between a GPU and a NIC of different sockets in that of the GPU's");
  add_link(f, "host_staging", &Spec::host_staging, profile, kGpuLink)
      .optional("GPUs reach each other")
      .means(
          "GPUs without peer access, such as GeForce: what one of them sends to others in its node through host memory "
          "of its socket");
  f.then([](const JsonNode& node, Spec& tree) {
    if (tree.sockets() > 1) node.at("socket_link");
  });
  return f;
}

ObjectFormat<NvlinkMeshSpec> nvlink_mesh_format(int gpus_per_node, const calib::Profile* profile) {
  using Spec = NvlinkMeshSpec;
  ObjectFormat<Spec> f("nvlink-mesh");
  add_link(f, "link", &Spec::link, profile, kOneNvlink).means("one NVLink");
  auto links = f.custom("links", "array of `[GPU, GPU, count]`", "count 1 to 72; each pair once",
                        {{"type", "array"},
                         {"items",
                          {{"type", "array"},
                           {"prefixItems",
                            {whole_schema(0, kMostGpusPerNode - 1), whole_schema(0, kMostGpusPerNode - 1),
                             whole_schema(1, kMostNvlinks)}},
                           {"minItems", 3},
                           {"maxItems", 3}}}});
  links.means("a pair's bandwidth is count times that of `link`. Pairs not listed use `pcie`");
  links.reads([=](const JsonNode& node, Spec& mesh) { mesh.pairs = read_pairs(node, gpus_per_node); });
  links.writes([](const Spec& mesh) {
    Json list = Json::array();
    for (const NvlinkPairSpec& pair : mesh.pairs) list.push_back({pair.a, pair.b, pair.links});
    return list;
  });
  return f;
}

// Describes each GPU's separate PCIe path to host and NIC.
ObjectFormat<PcieTreeSpec> own_pcie_format(const calib::Profile* profile) {
  ObjectFormat<PcieTreeSpec> f("pcie");
  add_link(f, "pcie_link", &PcieTreeSpec::gpu_link, profile, kOwnPcie).means("each GPU's own way to host and NIC");
  return f;
}

ObjectFormat<IntraNodeSpec> intra_node_format(IntraNodeKind kind, int gpus_per_node,
                                              const calib::Profile* profile = nullptr) {
  using Spec = IntraNodeSpec;
  ObjectFormat<Spec> f(name_of(kind));
  add_kind(f, &Spec::kind, kind);
  switch (kind) {
    case IntraNodeKind::pcie_tree:
      f.merge(pcie_tree_format(gpus_per_node, profile), &Spec::pcie);
      break;
    case IntraNodeKind::nvlink_mesh:
      f.merge(nvlink_mesh_format(gpus_per_node, profile), &Spec::mesh);
      f.object("pcie", &Spec::pcie, pcie_tree_format(gpus_per_node, profile))
          .means("pairs without NVLink, and the way to NICs");
      break;
    case IntraNodeKind::nvswitch:
      add_link(f, "gpu_link", &Spec::gpu_link, profile, kToNvswitch)
          .means("GPU to the switch plane; a message passes two");
      f.merge(own_pcie_format(profile), &Spec::pcie);
      break;
  }
  return f;
}

}  // namespace

IntraNodeSpec read_intra_node(const JsonNode& node, int gpus_per_node, const calib::Profile* profile) {
  const IntraNodeKind kind = read_choice<IntraNodeKind>(node.at("kind"));
  return intra_node_format(kind, gpus_per_node, profile).read(node);
}

Json to_json(const IntraNodeSpec& node) {
  return intra_node_format(node.kind, kMostGpusPerNode).write(node);
}

std::string intra_node_table(IntraNodeKind kind) {
  return intra_node_format(kind, kMostGpusPerNode).table("", false);
}

Json intra_node_schema() {
  Json kinds = Json::array();
  for (const Choice<IntraNodeKind>& kind : choices_of(IntraNodeKind()))
    kinds.push_back(intra_node_format(kind.value, kMostGpusPerNode).schema());
  return {{"anyOf", kinds}};
}

}  // namespace cluster_read
}  // namespace lockstep::sim::scenario
