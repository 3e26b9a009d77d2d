#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {
namespace {

long product(const std::vector<int>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1L, std::multiplies<>());
}

}  // namespace

long FabricSpec::places() const {
  switch (kind) {
    case FabricKind::star:
      return 0;
    case FabricKind::fat_tree:
      return product(fat_tree.down);
    case FabricKind::torus:
      return product(torus);
    case FabricKind::dragonfly:
      return product({dragonfly.groups.first, dragonfly.chassis.first, dragonfly.routers.first, dragonfly.nodes});
  }
  return 0;
}

namespace cluster_read {
namespace {

constexpr int kMostLevels = 8;
constexpr int kMostPorts = 4096;

// 1 to kMostLevels whole numbers, of which no product overflows a long.
std::vector<int> read_counts(const JsonNode& node) {
  std::vector<int> counts;
  for (const JsonNode& item : node.items()) {
    counts.push_back(static_cast<int>(item.integer(1, kMostPorts)));
    if (product(counts) > kMostPlaces) item.fail("more than " + std::to_string(kMostPlaces) + " places in all");
  }
  if (counts.empty() || counts.size() > kMostLevels)
    node.fail(std::to_string(counts.size()) + " numbers", "allowed: 1 to " + std::to_string(kMostLevels));
  return counts;
}

FatTreeSpec read_levels(const JsonNode& node) {
  node.keys({"down", "up", "count"});
  FatTreeSpec tree{read_counts(node.at("down")), read_counts(node.at("up")), read_counts(node.at("count"))};
  for (const auto* key : {"up", "count"}) {
    const std::vector<int>& numbers = *key == 'u' ? tree.up : tree.count;
    if (numbers.size() != tree.down.size())
      node.at(key).fail(std::to_string(numbers.size()) + " levels, but \"down\" has " +
                        std::to_string(tree.down.size()));
  }
  return tree;
}

// Leaves of `leaf_nodes` nodes below one level of spines; every leaf has leaf_nodes / oversubscription uplinks.
FatTreeSpec read_two_levels(const JsonNode& node, int nodes) {
  const int leaf_nodes = sourced_whole(node.at("leaf_nodes"), 1, kMostPorts);
  const int oversubscription = sourced_whole(node.at("oversubscription"), 1, leaf_nodes);
  if (leaf_nodes % oversubscription != 0)
    node.at("oversubscription")
        .fail(std::to_string(oversubscription) + " does not divide \"leaf_nodes\", " + std::to_string(leaf_nodes));
  const int leaves = (nodes + leaf_nodes - 1) / leaf_nodes;
  return {{leaf_nodes, leaves}, {1, leaf_nodes / oversubscription}, {1, 1}};
}

FatTreeSpec read_fat_tree(const JsonNode& node, int nodes) {
  if (!node.has("levels")) return read_two_levels(node, nodes);
  for (const auto* key : {"leaf_nodes", "oversubscription"})
    if (const auto both = node.find(key)) both->fail("given beside \"levels\"", "allowed: one of the two forms");
  return read_levels(node.at("levels"));
}

// [count, links between two of them].
std::pair<int, int> read_count_and_links(const JsonNode& node) {
  const std::vector<JsonNode> numbers = node.items();
  if (numbers.size() != 2)
    node.fail("expected 2 numbers, got " + std::to_string(numbers.size()), "allowed: [count, links]");
  return {static_cast<int>(numbers[0].integer(1, kMostPorts)), static_cast<int>(numbers[1].integer(1, kMostPorts))};
}

DragonflySpec read_dragonfly(const JsonNode& node) {
  DragonflySpec dragonfly{read_count_and_links(node.at("groups")), read_count_and_links(node.at("chassis")),
                          read_count_and_links(node.at("routers")),
                          static_cast<int>(node.at("nodes").integer(1, kMostPorts))};
  // SimGrid links group i to group j by the i-th router of a chassis.
  if (dragonfly.groups.first > 1 && dragonfly.groups.first > dragonfly.routers.first)
    node.at("groups").fail(std::to_string(dragonfly.groups.first) + " groups need as many routers in a chassis",
                           "allowed: up to " + std::to_string(dragonfly.routers.first));
  return dragonfly;
}

void check_places(const JsonNode& node, const FabricSpec& fabric, int nodes) {
  const long places = fabric.places();
  if (places > kMostPlaces) node.fail(std::to_string(places) + " places", "allowed: " + std::to_string(kMostPlaces));
  if (fabric.kind != FabricKind::star && places < nodes)
    node.fail("places for " + std::to_string(places) + " nodes, but the cluster has " + std::to_string(nodes));
}

}  // namespace

FabricSpec read_fabric(const JsonNode& node, int nodes, const NicSpec& nic) {
  const std::string kind = node.at("kind").choice({"star", "fat-tree", "torus", "dragonfly"});
  FabricSpec fabric;
  if (kind == "star") {
    node.keys({"kind", "latency", "bandwidth"});
  } else if (kind == "fat-tree") {
    node.keys({"kind", "latency", "bandwidth", "levels", "leaf_nodes", "oversubscription"});
    fabric.kind = FabricKind::fat_tree;
    fabric.fat_tree = read_fat_tree(node, nodes);
  } else if (kind == "torus") {
    node.keys({"kind", "latency", "bandwidth", "dimensions"});
    fabric.kind = FabricKind::torus;
    fabric.torus = read_counts(node.at("dimensions"));
  } else {
    node.keys({"kind", "latency", "bandwidth", "groups", "chassis", "routers", "nodes"});
    fabric.kind = FabricKind::dragonfly;
    fabric.dragonfly = read_dragonfly(node);
  }
  check_places(node, fabric, nodes);
  fabric.link.latency_s = node.at("latency").sourced_quantity(Dimension::time, kLatency);
  const double nics_bytes_per_s = nic.per_node * nic.link.bandwidth_bytes_per_s;
  fabric.link.bandwidth_bytes_per_s = node.has("bandwidth") || nics_bytes_per_s <= 0  // a server may have no NIC
                                          ? node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth)
                                          : nics_bytes_per_s;
  return fabric;
}

}  // namespace cluster_read
}  // namespace lockstep::sim
