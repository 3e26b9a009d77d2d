#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "engine/base/index.hpp"

namespace lockstep::sim::cluster {

Cluster::Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input)
    : spec_(spec),
      gpus_(gpus),
      nodes_((gpus + spec.gpus_per_node - 1) / spec.gpus_per_node),
      file_server_bytes_per_s_(input.file_server_bytes_per_s),
      layout_(spec, input.has_memories) {
  if (gpus < 1 || nodes_ > spec.nodes)
    throw std::invalid_argument("cluster \"" + spec.name + "\" has no " + std::to_string(gpus) + " GPUs, but " +
                                std::to_string(spec.nodes * spec.gpus_per_node));
  if (file_server_bytes_per_s_ > 0 && (nodes_ == spec.nodes || !input.has_memories))
    throw std::invalid_argument("cluster \"" + spec.name + "\" has no node for a file server, or no memories");
  fabric_ = make_fabric(spec_, all_nodes());
  for (int from = 0; from < layout_.endpoints(); ++from)
    for (int to = 0; to < layout_.endpoints(); ++to) latency_s_.push_back(layout_.latency_s(from, to));
}

Cluster Cluster::take_first_gpus(int gpus) const {
  Cluster fewer(spec_, gpus);
  fewer.overhead_ = overhead_;
  return fewer;
}

Endpoint Cluster::gpu(int gpu) const {
  if (gpu < 0 || gpu >= gpus_) throw std::out_of_range("no GPU " + std::to_string(gpu));
  return {gpu / spec_.gpus_per_node, gpu % spec_.gpus_per_node};
}

Cluster::Ends Cluster::host_copy_ends(int gpu) const {
  const Endpoint to = this->gpu(gpu);
  return {{to.node, layout_.memory(layout_.socket_of_gpu(to.part))}, to};
}

Cluster::Ends Cluster::file_read_ends(int gpu) const {
  if (file_server_bytes_per_s_ <= 0) throw std::logic_error("the cluster has no file server");
  return {cpu(nodes_), {node_of(gpu), layout_.memory(layout_.socket_of_first_nic())}};
}

Route Cluster::route(int src_gpu, int dst_gpu) const {
  Route route = message_route(gpu(src_gpu), gpu(dst_gpu));
  const bool is_inside = node_of(src_gpu) == node_of(dst_gpu);
  const int hops = is_inside ? 0 : fabric_->hops(node_of(src_gpu), node_of(dst_gpu));
  route.latency_s = latency_s(gpu(src_gpu), gpu(dst_gpu), hops);
  return route;
}

Route Cluster::message_route(Endpoint from, Endpoint to) const {
  Route route;
  find_message_route(from, to, route);
  return route;
}

void Cluster::find_message_route(Endpoint from, Endpoint to, Route& route) const {
  if (from == to) throw std::invalid_argument("no route from an end of messages to itself");
  route.links.clear();
  const auto append_inside = [&](int node, int begin, int end) {
    for (const int link : layout_.route(begin, end)) route.links.push_back(node * links_of_node() + link);
  };
  if (from.node == to.node) {
    append_inside(from.node, from.part, to.part);
  } else {
    append_inside(from.node, from.part, layout_.port());
    fabric_->append_route(from.node, to.node, first_fabric_link(), route.links);
    append_inside(to.node, layout_.port(), to.part);
  }
  route.latency_s = message_latency_s(from, to);
  route.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
  for (const int link : route.links)
    route.bandwidth_bytes_per_s = std::min(route.bandwidth_bytes_per_s, link_bandwidth(link));
}

double Cluster::link_bandwidth(int link) const {
  if (link >= first_fabric_link()) {
    const int of_fabric = link - first_fabric_link();
    const bool is_port = spec_.fabric.kind == FabricKind::star;
    return fabric_->bandwidth_bytes_per_s(of_fabric) / (is_port ? ways_of(of_fabric / 2) : 1);
  }
  const int node = link / links_of_node();
  if (node >= nodes_) return file_server_bytes_per_s_;
  return layout_.links()[to_index(link % links_of_node())].bandwidth_bytes_per_s / ways_of(node);
}

std::string Cluster::link_name(int link) const {
  if (link >= first_fabric_link()) return "fabric." + fabric_->name(link - first_fabric_link());
  return "node" + std::to_string(link / links_of_node()) + "." + layout_.links()[to_index(link % links_of_node())].name;
}

int Cluster::nodes_of_unit() const {
  return ways_.empty() ? fabric_->nodes_of_unit() : 0;
}

int Cluster::gpus_of_unit() const {
  return nodes_of_unit() > 0 ? nodes_of_unit() * spec_.gpus_per_node : gpus_;
}

int Cluster::links_of_unit() const {
  return nodes_of_unit() > 0 ? nodes_of_unit() * links_of_node() + fabric_->links_of_unit() : link_count();
}

Fabric::UnitLink Cluster::unit_of(int link) const {
  const int nodes = nodes_of_unit();
  if (nodes == 0) return {0, link};
  const int links_of_nodes = nodes * links_of_node();
  if (link < first_fabric_link()) return {link / links_of_nodes, link % links_of_nodes};
  const Fabric::UnitLink of_fabric = fabric_->unit_of(link - first_fabric_link());
  return {of_fabric.unit, links_of_nodes + of_fabric.link};
}

void Cluster::bundle_messages_of_node(int node, int ways) {
  ways_.resize(to_index(all_nodes()), 1);
  ways_[to_index(node)] *= ways;
}

double Cluster::message_latency_s(Endpoint from, Endpoint to) const {
  if (from.node == to.node) return latency_s(from, to, 0) + overhead_.intra_node_s;
  return latency_s(from, to, fabric_->hops(from.node, to.node)) + overhead_.inter_node_s;
}

double Cluster::latency_s(Endpoint from, Endpoint to, int hops) const {
  const auto inside = [this](int begin, int end) { return latency_s_[to_index(begin * layout_.endpoints() + end)]; };
  if (from.node == to.node) return inside(from.part, to.part);
  return inside(from.part, layout_.port()) + inside(layout_.port(), to.part) + hops * spec_.fabric.link.latency_s;
}

const char* Cluster::network_model() {
  return "CM02, exact (no cross traffic, no TCP window, fair sharing)";
}

}  // namespace lockstep::sim::cluster
