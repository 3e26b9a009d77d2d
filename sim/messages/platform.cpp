#include "sim/messages/platform.hpp"

#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/messages/engine.hpp"
#include "sim/messages/simgrid_compat.hpp"

namespace lockstep::sim::messages {
namespace {

namespace sg4 = simgrid::s4u;

using EndOfHost = simgrid::xbt::Extension<sg4::Host, Endpoint>;

std::vector<unsigned> counts(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}
compat::CountAndLinks counts(const std::pair<int, int>& numbers) {
  return {static_cast<unsigned>(numbers.first), static_cast<unsigned>(numbers.second)};
}

}  // namespace

class Platform::Impl {
 public:
  explicit Impl(const Cluster& cluster)
      : cluster_(cluster),
        spec_(cluster.spec()),
        layout_(cluster.layout()),
        hosts_of_node_(to_index(layout_.endpoints())),
        hosts_(to_index(cluster.all_nodes()) * hosts_of_node_, nullptr),
        cluster_of_node_(to_index(cluster.all_nodes()), &cluster) {
    start_engine();
    end_of_host_ = sg4::Host::extension_create<Endpoint>([](void*) { /* ends_ owns them */ });
    ends_.resize(hosts_.size());
    sg4::NetZone* const fabric =
        cluster.has_own_routes() ? make_full_zone(compat::root_zone()) : make_fabric(compat::root_zone());
    fabric->seal();
    // SimGrid knows the place of a host, so this needs no search. It is called for every message.
    compat::set_latency_factor(
        fabric, [this](double, const sg4::Host* src, const sg4::Host* dst, const auto&, const auto&) {
          const Endpoint& from = *src->extension(end_of_host_);
          return cluster_of_node_[to_index(from.node)]->message_latency_s(from, *dst->extension(end_of_host_)) /
                 kRawLatency_s;
        });
  }

  void use_latencies_of(const Cluster& job) {
    for (int node = 0; node < job.nodes(); ++node) cluster_of_node_[to_index(job.node_at(node))] = &job;
  }

  sg4::Host* host(Endpoint end) const { return hosts_.at(to_index(end.node) * hosts_of_node_ + to_index(end.part)); }

 private:
  sg4::NetZone* make_fabric(sg4::NetZone* root) {
    const double bandwidth = spec_.fabric.link.bandwidth_bytes_per_s;
    const compat::MakeLeaf make = [this](sg4::NetZone* zone, unsigned long id) { return make_leaf(zone, id); };
    switch (spec_.fabric.kind) {
      case FabricKind::star:
        break;
      case FabricKind::fat_tree: {
        const FatTreeSpec& tree = spec_.fabric.fat_tree;
        return compat::add_fat_tree(root, "fabric", counts(tree.down), counts(tree.up), counts(tree.count), bandwidth,
                                    make);
      }
      case FabricKind::torus: {
        const std::vector<unsigned long> sizes(spec_.fabric.torus.begin(), spec_.fabric.torus.end());
        return compat::add_torus(root, "fabric", sizes, bandwidth, make);
      }
      case FabricKind::dragonfly: {
        const DragonflySpec& fly = spec_.fabric.dragonfly;
        return compat::add_dragonfly(root, "fabric", counts(fly.groups), counts(fly.chassis), counts(fly.routers),
                                     static_cast<unsigned>(fly.nodes), bandwidth, make);
      }
    }
    return make_star(root);
  }

  sg4::NetZone* make_full_zone(sg4::NetZone* root) {
    sg4::NetZone* const zone = compat::add_full_zone(root, "fabric");
    std::vector<compat::NetPoint*> points;
    std::vector<Endpoint> ends;
    for (int node = 0; node < cluster_.all_nodes(); ++node)
      for (int part = 0; part < layout_.endpoints(); ++part) {
        if (part == layout_.port()) continue;
        ends.push_back({node, part});
        points.push_back(add_host(zone, ends.back(), "node" + std::to_string(node) + ".part" + std::to_string(part)));
      }
    std::vector<const sg4::Link*> links;
    const int of_node = static_cast<int>(layout_.links().size()), of_nodes = cluster_.all_nodes() * of_node;
    for (int link = 0; link < cluster_.link_count(); ++link)
      links.push_back(add_link(zone, link, link < of_nodes && layout_.links()[to_index(link % of_node)].begins_routes));
    for (std::size_t from = 0; from < ends.size(); ++from)
      for (std::size_t to = 0; to < ends.size(); ++to) {
        const bool is_inside = ends[from].node == ends[to].node;
        const NodeLayout& begin = cluster_.layout_of(ends[from].node);
        const NodeLayout& end = cluster_.layout_of(ends[to].node);
        const bool is_reached = is_inside ? !begin.route(ends[from].part, ends[to].part).empty()
                                          : !begin.route(ends[from].part, layout_.port()).empty() &&
                                                !end.route(layout_.port(), ends[to].part).empty();
        if (from == to || !is_reached) continue;
        std::vector<sg4::LinkInRoute> route;
        for (const int link : cluster_.message_route(ends[from], ends[to]).links)
          route.emplace_back(links[to_index(link)]);
        compat::add_route(zone, points[from], points[to], route);
      }
    return zone;
  }

  // The fabric's links are the nodes' ports, alternating out and in, or there are none.
  sg4::NetZone* make_star(sg4::NetZone* root) {
    sg4::NetZone* const star = compat::add_star_zone(root, "fabric");
    const int first_port = cluster_.all_nodes() * static_cast<int>(layout_.links().size());
    for (int node = 0; node < cluster_.all_nodes(); ++node) {
      const compat::Leaf leaf = make_leaf(star, static_cast<unsigned long>(node));
      std::vector<sg4::LinkInRoute> out, in;
      if (cluster_.link_count() > first_port) {
        out.emplace_back(add_link(star, first_port + 2 * node, false));
        in.emplace_back(add_link(star, first_port + 2 * node + 1, false));
      }
      compat::connect_leaf(star, leaf, out, in);
    }
    return star;
  }

  // A node of the cluster, or an empty place of the fabric.
  compat::Leaf make_leaf(sg4::NetZone* parent, unsigned long id) {
    const bool is_node = id < static_cast<unsigned long>(cluster_.all_nodes());
    const std::string name = (is_node ? "node" : "unused") + std::to_string(id);
    sg4::NetZone* const zone = compat::add_full_zone(parent, name);
    const int node = static_cast<int>(id);
    std::vector<compat::NetPoint*> points;  // by endpoint
    for (int part = 0; is_node && part < layout_.port(); ++part)
      points.push_back(add_host(zone, {node, part},
                                name + (part < layout_.cpu() ? ".gpu" + std::to_string(part) : std::string(".cpu"))));
    compat::NetPoint* const port = compat::add_router(zone, name + ".port");
    points.push_back(port);
    for (int socket = 0; is_node && socket < layout_.memories(); ++socket)
      points.push_back(add_host(zone, {node, layout_.memory(socket)}, name + ".memory" + std::to_string(socket)));
    if (is_node) add_routes(zone, add_links(parent, node), points);
    return compat::seal_leaf(zone, port);
  }

  compat::NetPoint* add_host(sg4::NetZone* zone, Endpoint end, const std::string& name) {
    const std::size_t number = to_index(end.node) * hosts_of_node_ + to_index(end.part);
    hosts_[number] = compat::add_host(zone, name, 1);
    ends_[number] = end;
    hosts_[number]->extension_set(end_of_host_, &ends_[number]);
    return hosts_[number]->get_netpoint();
  }

  // The links belong to the fabric's zone, not to the node's. SimGrid searches all zones for every new link's name, and
  // empty zones take less time.
  std::vector<const sg4::Link*> add_links(sg4::NetZone* parent, int node) {
    std::vector<const sg4::Link*> links;
    const int count = static_cast<int>(layout_.links().size());
    for (int link = 0; link < count; ++link)
      links.push_back(add_link(parent, node * count + link, layout_.links()[to_index(link)].begins_routes));
    return links;
  }

  void add_routes(sg4::NetZone* zone, const std::vector<const sg4::Link*>& links,
                  const std::vector<compat::NetPoint*>& points) {
    for (int from = 0; from < layout_.endpoints(); ++from)
      for (int to = 0; to < layout_.endpoints(); ++to) {
        if (layout_.route(from, to).empty()) continue;
        std::vector<sg4::LinkInRoute> route;
        for (int link : layout_.route(from, to)) route.emplace_back(links[to_index(link)]);
        compat::add_route(zone, points[to_index(from)], points[to_index(to)], route);
      }
  }

  const sg4::Link* add_link(sg4::NetZone* zone, int link, bool begins_routes) {
    sg4::Link* const made = compat::add_link(zone, cluster_.link_name(link), cluster_.link_bandwidth(link));
    made->set_latency(begins_routes ? kRawLatency_s : 0.0);
    return made;
  }

  const Cluster& cluster_;
  const ClusterSpec& spec_;
  const NodeLayout& layout_;
  const std::size_t hosts_of_node_;
  std::vector<sg4::Host*> hosts_;                // by node, then endpoint; none at the port
  std::vector<Endpoint> ends_;                   // of each
  std::vector<const Cluster*> cluster_of_node_;  // whose latencies its messages have
  EndOfHost end_of_host_;
};

Platform& Platform::of(const Cluster& cluster) {
  // Lives as long as the process, as SimGrid's engine does.
  static Platform* platform = nullptr;
  if (platform != nullptr && &platform->cluster_ != &cluster)
    throw std::logic_error("a process can run one simulation: SimGrid is already started");
  if (platform == nullptr) platform = new Platform(cluster);
  return *platform;
}

Platform::Platform(const Cluster& cluster) : cluster_(cluster), impl_(std::make_unique<Impl>(cluster)) {}
Platform::~Platform() = default;

void Platform::use_latencies_of(const Cluster& job) {
  impl_->use_latencies_of(job);
}

simgrid::s4u::Host* Platform::host(Endpoint end) const {
  return impl_->host(end);
}

}  // namespace lockstep::sim::messages
