#include "sim/scenario/cluster_faults.hpp"

#include <set>

#include "sim/scenario/cluster_read.hpp"

namespace lockstep::sim::scenario {
namespace cluster_read {
namespace {

void check_fault(const JsonNode& node, const FaultSpec& fault) {
  const bool has_nic = node.has("node") || node.has("nic");
  if (has_nic == node.has("link"))
    node.fail("neither or both of a NIC and a link", "allowed: \"node\" and \"nic\", or \"link\"");
  if (has_nic) {
    node.at("node");
    node.at("nic");
  }
  if (fault.bandwidth_share == 1) node.at("bandwidth_share").fail("1 is no fault", "allowed: 0 to below 1");
}

bool is_same_part(const FaultSpec& a, const FaultSpec& b) {
  return a.link.empty() == b.link.empty() && (a.link.empty() ? a.node == b.node && a.nic == b.nic : a.link == b.link);
}

void check_nic(const JsonNode& node, const FaultSpec& fault, const ClusterSpec& cluster) {
  if (!fault.link.empty()) return;
  if (fault.node >= cluster.nodes)
    node.at("node").fail("the cluster has " + std::to_string(cluster.nodes) + " nodes, numbered from 0",
                         "allowed: up to " + std::to_string(cluster.nodes - 1));
  if (fault.nic >= cluster.nic.per_node)
    node.at("nic").fail("a node has " + std::to_string(cluster.nic.per_node) + " NICs, numbered from 0",
                        cluster.nic.per_node > 0 ? "allowed: up to " + std::to_string(cluster.nic.per_node - 1) : "");
}

// A node all of whose NICs are dead reaches no other node.
void check_live_nics(const JsonNode& node, const ClusterSpec& cluster) {
  std::map<int, std::set<int>> dead;
  for (const FaultSpec& fault : cluster.faults)
    if (fault.link.empty() && fault.bandwidth_share == 0) dead[fault.node].insert(fault.nic);
  for (const auto& [of_node, nics] : dead)
    if (static_cast<int>(nics.size()) == cluster.nic.per_node)
      node.fail("all NICs of node " + std::to_string(of_node) + " are dead",
                "allowed: one that works; or /cluster/nodes_used without this node");
}

std::vector<int> read_nodes(const JsonNode& node, int nodes) {
  std::vector<int> used;
  std::set<int> known;
  for (const JsonNode& item : node.items()) {
    used.push_back(static_cast<int>(item.integer(0, nodes - 1)));
    if (!known.insert(used.back()).second) item.fail("node " + std::to_string(used.back()) + " is listed twice");
  }
  if (used.empty()) node.fail("empty list", "allowed: numbers of nodes from 0");
  return used;
}

}  // namespace

const ObjectFormat<FaultSpec>& fault_format() {
  using Spec = FaultSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("faults");
    f.whole("node", &Spec::node, 0, kMostNodes - 1).optional("required with `nic`").means("node of a NIC, from 0");
    f.whole("nic", &Spec::nic, 0, kMostGpusPerNode - 1)
        .optional("required with `node`")
        .means("number of the NIC in its node, from 0; both directions");
    f.text("link", &Spec::link)
        .optional("required without `nic`")
        .means(
            "name of a link as `--dump-links` prints it, such as `fabric.level1.0.port0.up`; without `.up` or "
            "`.down`: both directions");
    f.number("bandwidth_share", &Spec::bandwidth_share, {0, 1})
        .optional("`0`")
        .means(
            "share of the bandwidth that is left, below 1. `0`: dead. Other NICs of the node, or other routes of a "
            "fat tree, then carry the messages");
    f.then(check_fault);
    return f;
  }();
  return format;
}

void add_faults(ObjectFormat<ClusterSpec>& f) {
  auto used = f.custom("nodes_used", "array of whole", "numbers from 0",
                       {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 1}});
  used.optional("the first ones").means("nodes on which the job runs, in the order of its ranks");
  used.reads([](const JsonNode& node, ClusterSpec& cluster) { cluster.nodes_used = read_nodes(node, cluster.nodes); });
  used.writes(
      [](const ClusterSpec& cluster) { return cluster.nodes_used.empty() ? Json() : Json(cluster.nodes_used); });
  auto faults = f.list("faults", &ClusterSpec::faults, fault_format());
  faults.optional("none").means("[faults](#faults): NICs and links that are slow or dead");
  faults.reads([](const JsonNode& node, ClusterSpec& cluster) {
    cluster.faults.clear();
    for (const JsonNode& item : node.items()) {
      cluster.faults.push_back(fault_format().read(item));
      check_nic(item, cluster.faults.back(), cluster);
      for (std::size_t i = 0; i + 1 < cluster.faults.size(); ++i)
        if (is_same_part(cluster.faults[i], cluster.faults.back()))
          item.fail("/faults/" + std::to_string(i) + " has the same NIC or link", "allowed: one entry for each");
    }
    check_live_nics(node, cluster);
  });
}

}  // namespace cluster_read
}  // namespace lockstep::sim::scenario
