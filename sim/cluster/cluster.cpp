#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "engine/base/index.hpp"

namespace lockstep::sim::cluster {
namespace {

// Holds 12 and ".nic0.up" for the name "node12.nic0.up" after its prefix "node".
struct NumberedName {
  int number;
  std::string rest;
};

std::optional<NumberedName> split_number(const std::string& name, const std::string& prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return {};
  NumberedName split{-1, ""};
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, split.number);
  if (error != std::errc() || split.number < 0) return {};
  split.rest.assign(rest, end);
  return split;
}

}  // namespace

Cluster::Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input)
    : spec_(spec),
      gpus_(gpus),
      nodes_(spec.nodes_for(gpus)),
      numbered_nodes_(spec.nodes_used.empty() ? nodes_ : spec.nodes),
      file_server_bytes_per_s_(input.file_server_bytes_per_s),
      layout_(spec, input.has_memories) {
  const int nodes_to_use = spec.nodes_used.empty() ? spec.nodes : static_cast<int>(spec.nodes_used.size());
  if (gpus < 1 || nodes_ > nodes_to_use)
    throw std::invalid_argument("cluster \"" + spec.name + "\" has no " + std::to_string(gpus) + " GPUs, but " +
                                std::to_string(nodes_to_use * spec.gpus_per_node));
  if (file_server_bytes_per_s_ > 0 && (numbered_nodes_ == spec.nodes || !input.has_memories))
    throw std::invalid_argument("cluster \"" + spec.name + "\" has no node for a file server, or no memories");
  fabric_ = make_fabric(spec_, all_nodes());
  if (!spec_.faults.empty()) apply_faults();
  for (int from = 0; from < layout_.endpoints(); ++from)
    for (int to = 0; to < layout_.endpoints(); ++to) latency_s_.push_back(layout_.latency_s(from, to));
}

void Cluster::apply_faults() {
  std::map<int, std::set<int>> dead_nics;  // by node
  std::vector<int> dead_links;
  for (const FaultSpec& fault : spec_.faults)
    if (fault.link.empty() && fault.bandwidth_share == 0 && fault.node < all_nodes())
      dead_nics[fault.node].insert(fault.nic);
  if (!dead_nics.empty()) {
    std::vector<std::set<int>> layouts{{}};  // by layout, its dead NICs; the first layout has none
    for (const auto& [node, nics] : dead_nics) {
      const auto known = std::find(layouts.begin(), layouts.end(), nics);
      fault_of_node_[node] = static_cast<std::size_t>(known - layouts.begin()) - 1;
      if (known == layouts.end()) layouts.push_back(nics);
    }
    layouts_of_faults_ = NodeLayout::with_dead_nics(spec_, layout_.memories() > 0, layouts);
    layout_ = std::move(layouts_of_faults_.front());
    layouts_of_faults_.erase(layouts_of_faults_.begin());
  }
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.link.empty() && (fault.bandwidth_share == 0 || fault.node >= all_nodes())) continue;
    const std::string name =
        fault.link.empty() ? "node" + std::to_string(fault.node) + ".nic" + std::to_string(fault.nic) : fault.link;
    for (const int link : find_links(name)) {
      if (fault.bandwidth_share > 0) {
        bandwidth_share_[link] = fault.bandwidth_share;
      } else if (link < first_fabric_link()) {
        throw InputError("/cluster/faults: link \"" + name + "\" is in a node, where routes are fixed; allowed: " +
                         "bandwidth_share above 0; or a NIC by \"node\" and \"nic\"");
      } else {
        dead_links.push_back(link - first_fabric_link());
      }
    }
  }
  fabric_->close(dead_links);
}

// Both directions if the name has none. Links of nodes that are not numbered here carry nothing, and are left out.
std::vector<int> Cluster::find_links(const std::string& name) const {
  std::vector<int> found;
  bool is_known = false;
  const auto has_name = [&](const std::string& of_link) {
    return of_link == name || of_link == name + ".up" || of_link == name + ".down";
  };
  if (const std::optional<NumberedName> of_node = split_number(name, "node"))
    for (int link = 0; of_node->number < spec_.nodes && link < links_of_node(); ++link) {
      if (!has_name("node" + std::to_string(of_node->number) + "." + layout_.links()[to_index(link)].name)) continue;
      is_known = true;
      if (of_node->number < all_nodes()) found.push_back(of_node->number * links_of_node() + link);
    }
  for (int link = first_fabric_link(); link < link_count(); ++link)
    if (has_name(link_name(link))) found.push_back(link);
  if (is_known || !found.empty()) return found;
  // A star has the ports of the numbered nodes only.
  const std::optional<NumberedName> port = split_number(name, "fabric.node");
  const bool has_ports = spec_.fabric.kind == FabricKind::star && fabric_->links() > 0;
  const bool is_port = port && (port->rest.empty() || port->rest == ".up" || port->rest == ".down");
  if (has_ports && is_port && port->number >= all_nodes() && port->number < spec_.nodes) return {};
  std::string names = "\"" + link_name(0) + "\"";
  if (first_fabric_link() < link_count()) names += ", \"" + link_name(first_fabric_link()) + "\"";
  throw InputError("/cluster/faults: no link is named \"" + name + "\"; allowed: names such as " + names);
}

const NodeLayout& Cluster::layout_of(int node) const {
  const auto fault = fault_of_node_.empty() ? fault_of_node_.end() : fault_of_node_.find(node);
  return fault == fault_of_node_.end() ? layout_ : layouts_of_faults_[fault->second];
}

bool Cluster::has_own_routes() const {
  return !spec_.faults.empty() || spec_.fabric.routing == Routing::ecmp || !spec_.fabric.fat_tree.links.empty();
}

Cluster Cluster::take_first_gpus(int gpus) const {
  Cluster fewer(spec_, gpus);
  fewer.overhead_ = overhead_;
  return fewer;
}

Endpoint Cluster::gpu(int gpu) const {
  if (gpu < 0 || gpu >= gpus_) throw std::out_of_range("no GPU " + std::to_string(gpu));
  return {node_of(gpu), gpu % spec_.gpus_per_node};
}

Cluster::Ends Cluster::host_copy_ends(int gpu) const {
  const Endpoint to = this->gpu(gpu);
  return {{to.node, layout_.memory(layout_.socket_of_gpu(to.part))}, to};
}

Cluster::Ends Cluster::file_read_ends(int gpu) const {
  if (file_server_bytes_per_s_ <= 0) throw std::logic_error("the cluster has no file server");
  const int node = node_of(gpu);
  return {cpu(numbered_nodes_), {node, layout_.memory(layout_of(node).socket_of_first_nic())}};
}

Route Cluster::route(int src_gpu, int dst_gpu) const {
  Route route = message_route(gpu(src_gpu), gpu(dst_gpu));
  const bool is_inside = node_of(src_gpu) == node_of(dst_gpu);
  const double fabric_s = is_inside ? 0 : fabric_->latency_s(node_of(src_gpu), node_of(dst_gpu));
  route.latency_s = latency_s(gpu(src_gpu), gpu(dst_gpu), fabric_s);
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
    for (const int link : layout_of(node).route(begin, end)) route.links.push_back(node * links_of_node() + link);
  };
  if (from.node == to.node) {
    append_inside(from.node, from.part, to.part);
  } else {
    append_inside(from.node, from.part, layout_.port());
    const std::uint64_t connection = static_cast<std::uint64_t>(from.part) << 32 | static_cast<std::uint64_t>(to.part);
    fabric_->append_route(from.node, to.node, connection, first_fabric_link(), route.links);
    append_inside(to.node, layout_.port(), to.part);
  }
  route.latency_s = message_latency_s(from, to);
  route.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
  for (const int link : route.links)
    route.bandwidth_bytes_per_s = std::min(route.bandwidth_bytes_per_s, link_bandwidth(link));
}

double Cluster::link_bandwidth(int link) const {
  const auto fault = bandwidth_share_.empty() ? bandwidth_share_.end() : bandwidth_share_.find(link);
  const double share = fault == bandwidth_share_.end() ? 1 : fault->second;
  if (link >= first_fabric_link()) {
    const int of_fabric = link - first_fabric_link();
    const bool is_port = spec_.fabric.kind == FabricKind::star;
    return share * fabric_->bandwidth_bytes_per_s(of_fabric) / (is_port ? ways_of(of_fabric / 2) : 1);
  }
  const int node = link / links_of_node();
  if (node >= numbered_nodes_) return file_server_bytes_per_s_;
  return share * layout_.links()[to_index(link % links_of_node())].bandwidth_bytes_per_s / ways_of(node);
}

std::string Cluster::link_name(int link) const {
  if (link >= first_fabric_link()) return "fabric." + fabric_->name(link - first_fabric_link());
  return "node" + std::to_string(link / links_of_node()) + "." + layout_.links()[to_index(link % links_of_node())].name;
}

int Cluster::nodes_of_unit() const {
  const bool are_alike =
      ways_.empty() && spec_.nodes_used.empty() && bandwidth_share_.empty() && fault_of_node_.empty();
  return are_alike ? fabric_->nodes_of_unit() : 0;
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

void Cluster::divide_bandwidth_of_node(int node, int ways) {
  ways_.resize(to_index(all_nodes()), 1);
  ways_[to_index(node)] *= ways;
}

double Cluster::message_latency_s(Endpoint from, Endpoint to) const {
  if (from.node == to.node) return latency_s(from, to, 0) + overhead_.intra_node_s;
  return latency_s(from, to, fabric_->latency_s(from.node, to.node)) + overhead_.inter_node_s;
}

double Cluster::latency_s(Endpoint from, Endpoint to, double fabric_s) const {
  const auto inside = [this](int node, int begin, int end) {
    if (fault_of_node_.count(node) > 0) return layout_of(node).latency_s(begin, end);
    return latency_s_[to_index(begin * layout_.endpoints() + end)];
  };
  if (from.node == to.node) return inside(from.node, from.part, to.part);
  return inside(from.node, from.part, layout_.port()) + inside(to.node, layout_.port(), to.part) + fabric_s;
}

const char* Cluster::network_model() {
  return "CM02, exact (no cross traffic, no TCP window, fair sharing)";
}

}  // namespace lockstep::sim::cluster
