#include "sim/cluster/platform.hpp"

#include <algorithm>
#include <unordered_set>

#include "engine/base/index.hpp"
#include "sim/cluster/engine.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

std::vector<unsigned> counts(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}
compat::CountAndLinks counts(const std::pair<int, int>& numbers) {
  return {static_cast<unsigned>(numbers.first), static_cast<unsigned>(numbers.second)};
}

class PlatformBuilder {
 public:
  PlatformBuilder(const ClusterSpec& spec, const NodeLayout& layout, int nodes)
      : spec_(spec), layout_(layout), nodes_(nodes) {}

  Platform build() {
    sg4::NetZone* const root = compat::root_zone();
    const double bandwidth = spec_.fabric.link.bandwidth_bytes_per_s;
    const compat::MakeLeaf make = [this](sg4::NetZone* zone, unsigned long id) { return make_leaf(zone, id); };
    switch (spec_.fabric.kind) {
      case FabricKind::star:
        platform_.fabric = make_star(root);
        break;
      case FabricKind::fat_tree: {
        const FatTreeSpec& tree = spec_.fabric.fat_tree;
        platform_.fabric = compat::add_fat_tree(root, "fabric", counts(tree.down), counts(tree.up), counts(tree.count),
                                                bandwidth, make);
        break;
      }
      case FabricKind::torus: {
        const std::vector<unsigned long> sizes(spec_.fabric.torus.begin(), spec_.fabric.torus.end());
        platform_.fabric = compat::add_torus(root, "fabric", sizes, bandwidth, make);
        break;
      }
      case FabricKind::dragonfly: {
        const DragonflySpec& fly = spec_.fabric.dragonfly;
        platform_.fabric =
            compat::add_dragonfly(root, "fabric", counts(fly.groups), counts(fly.chassis), counts(fly.routers),
                                  static_cast<unsigned>(fly.nodes), bandwidth, make);
        break;
      }
    }
    platform_.fabric->seal();
    add_fabric_links();
    return std::move(platform_);
  }

 private:
  // A switch that never is the bottleneck; the ports are, where they carry less than the node's NICs.
  sg4::NetZone* make_star(sg4::NetZone* root) {
    sg4::NetZone* const star = compat::add_star_zone(root, "fabric");
    const double port_bandwidth = spec_.fabric.link.bandwidth_bytes_per_s;
    const bool narrow = port_bandwidth < spec_.nic.per_node * spec_.nic.link.bandwidth_bytes_per_s;
    for (int node = 0; node < nodes_; ++node) {
      const compat::Leaf leaf = make_leaf(star, static_cast<unsigned long>(node));
      std::vector<sg4::LinkInRoute> out, in;
      if (narrow) {
        const std::string name = "fabric.node" + std::to_string(node);
        out.emplace_back(add_link(star, {name + ".up", port_bandwidth, 0, false}));
        in.emplace_back(add_link(star, {name + ".down", port_bandwidth, 0, false}));
      }
      compat::connect_leaf(star, leaf, out, in);
    }
    return star;
  }

  // A node of the cluster, or a place of the fabric that stays empty.
  compat::Leaf make_leaf(sg4::NetZone* parent, unsigned long id) {
    const bool is_node = id < static_cast<unsigned long>(nodes_);
    const std::string name = (is_node ? "node" : "unused") + std::to_string(id);
    sg4::NetZone* const zone = compat::add_full_zone(parent, name);
    std::vector<compat::NetPoint*> endpoints;
    if (is_node) endpoints = add_hosts(zone, name);
    compat::NetPoint* const port = compat::add_router(zone, name + ".port");
    endpoints.push_back(port);
    if (is_node) add_memories(zone, name, endpoints);
    if (is_node) add_routes(zone, add_links(parent, name), endpoints);
    return compat::seal_leaf(zone, port);
  }

  void add_memories(sg4::NetZone* zone, const std::string& name, std::vector<compat::NetPoint*>& endpoints) {
    for (int socket = 0; socket < layout_.memories(); ++socket) {
      platform_.memories.push_back(compat::add_host(zone, name + ".memory" + std::to_string(socket), 1));
      endpoints.push_back(platform_.memories.back()->get_netpoint());
    }
  }

  std::vector<compat::NetPoint*> add_hosts(sg4::NetZone* zone, const std::string& name) {
    std::vector<compat::NetPoint*> endpoints;
    for (int gpu = 0; gpu < layout_.gpus(); ++gpu) {
      platform_.gpus.push_back(compat::add_host(zone, name + ".gpu" + std::to_string(gpu), 1));
      endpoints.push_back(platform_.gpus.back()->get_netpoint());
    }
    platform_.cpus.push_back(compat::add_host(zone, name + ".cpu", 1));
    endpoints.push_back(platform_.cpus.back()->get_netpoint());
    return endpoints;
  }

  // The links belong to the fabric's zone, not to the node's: SimGrid seeks every new link's name in all zones in turn,
  // and empty ones are passed fast.
  std::vector<const sg4::Link*> add_links(sg4::NetZone* parent, const std::string& name) {
    std::vector<const sg4::Link*> links;
    for (const NodeLink& link : layout_.links())
      links.push_back(
          add_link(parent, {name + "." + link.name, link.bandwidth_bytes_per_s, link.latency_s, link.begins_routes}));
    return links;
  }

  void add_routes(sg4::NetZone* zone, const std::vector<const sg4::Link*>& links,
                  const std::vector<compat::NetPoint*>& endpoints) {
    for (int from = 0; from < layout_.endpoints(); ++from)
      for (int to = 0; to < layout_.endpoints(); ++to) {
        if (layout_.route(from, to).empty()) continue;
        std::vector<sg4::LinkInRoute> route;
        for (int link : layout_.route(from, to)) route.emplace_back(links[at(link)]);
        compat::add_route(zone, endpoints[at(from)], endpoints[at(to)], route);
      }
  }

  const sg4::Link* add_link(sg4::NetZone* zone, const NodeLink& link) {
    sg4::Link* const made = compat::add_link(zone, link.name, link.bandwidth_bytes_per_s);
    made->set_latency(link.begins_routes ? kRawLatency_s : 0.0);
    platform_.links.push_back({made, link.name, link.bandwidth_bytes_per_s, link.latency_s});
    return made;
  }

  // The links that SimGrid's zones made, in the order of their names.
  void add_fabric_links() {
    std::unordered_set<const sg4::Link*> known;
    for (const PlatformLink& link : platform_.links) known.insert(link.link);
    std::vector<sg4::Link*> made;
    for (sg4::Link* link : sg4::Engine::get_instance()->get_all_links())
      if (known.count(link) == 0) made.push_back(link);
    std::sort(made.begin(), made.end(), [](const auto* a, const auto* b) { return a->get_name() < b->get_name(); });
    for (sg4::Link* link : made)
      platform_.links.push_back(
          {link, "fabric." + link->get_name(), link->get_bandwidth(), spec_.fabric.link.latency_s});
  }

  const ClusterSpec& spec_;
  const NodeLayout& layout_;
  const int nodes_;
  Platform platform_;
};

}  // namespace

Platform build_platform(const ClusterSpec& spec, const NodeLayout& layout, int nodes) {
  return PlatformBuilder(spec, layout, nodes).build();
}

}  // namespace lockstep::sim
