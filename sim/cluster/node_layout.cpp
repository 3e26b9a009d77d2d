#include "sim/cluster/node_layout.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim::cluster {
namespace {

using Path = std::vector<int>;

void append(Path& path, const Path& tail) {
  path.insert(path.end(), tail.begin(), tail.end());
}

}  // namespace

struct NodeLayout::Builder {
  // Both directions of a link, as indices in NodeLayout::links().
  struct Duplex {
    int up;    // away from the GPU, out of the node
    int down;  // towards the GPU, into the node
  };

  Builder(const ClusterSpec& cluster, NodeLayout& node, const std::set<int>& dead_nics) : spec(cluster), layout(node) {
    for (int nic = 0; nic < spec.nic.per_node; ++nic)
      if (dead_nics.count(nic) == 0) live_nics.push_back(nic);
    const PcieTreeSpec& pcie = spec.intra_node.pcie;
    sockets = std::max(1, pcie.sockets());
    for (int gpu = 0; gpu < spec.gpus_per_node; ++gpu)
      gpu_pcie.push_back(duplex("gpu" + std::to_string(gpu) + ".pcie", pcie.gpu_link, true));
    for (int gpu = 0; gpu < spec.gpus_per_node && !pcie.has_peers(); ++gpu)
      staging.push_back(add("gpu" + std::to_string(gpu) + ".staging", pcie.host_staging, false));
    for (std::size_t s = 0; s < pcie.switches.size(); ++s)
      uplink.push_back(duplex("switch" + std::to_string(s), pcie.switch_uplink, false));
    for (int from = 0; from < sockets; ++from)
      for (int to = 0; to < sockets; ++to) socket_link.push_back(from == to ? -1 : socket_to_socket(from, to));
    add_memories();
    for (int socket = 0; socket < layout.memories_; ++socket)
      loader.push_back(add("socket" + std::to_string(socket) + ".loader", memory_link(), true));
    for (int nic = 0; nic < spec.nic.per_node; ++nic) nics.push_back(add_nic("nic" + std::to_string(nic)));
    cpu_memory = duplex("cpu", {spec.host.memory_bandwidth_bytes_per_s, spec.host.memory_latency_s}, true);
    if (spec.intra_node.kind == IntraNodeKind::nvswitch)
      for (int gpu = 0; gpu < spec.gpus_per_node; ++gpu)
        gpu_nvlink.push_back(duplex("gpu" + std::to_string(gpu) + ".nvlink", spec.intra_node.gpu_link, true));
  }

  int add(const std::string& name, LinkSpec link, bool begins_routes) {
    layout.links_.push_back({name, link.bandwidth_bytes_per_s, link.latency_s, begins_routes});
    return static_cast<int>(layout.links_.size()) - 1;
  }
  Duplex duplex(const std::string& name, LinkSpec link, bool begins_routes) {
    const int up = add(name + ".up", link, begins_routes);
    return {up, add(name + ".down", link, false)};
  }
  Duplex add_nic(const std::string& name) {
    if (!spec.nic.half_duplex) return duplex(name, spec.nic.link, false);
    const int both = add(name, spec.nic.link, false);
    return {both, both};
  }
  int socket_to_socket(int from, int to) {
    return add("socket" + std::to_string(from) + "-" + std::to_string(to), spec.intra_node.pcie.socket_link, false);
  }
  // A route must begin with a link of its own. Messages from a loader's memory therefore begin with this link, which
  // has no latency.
  LinkSpec memory_link() const { return {spec.host.memory_bandwidth_bytes_per_s, 0}; }
  void add_memories() {
    const LinkSpec link{spec.host.memory_bandwidth_bytes_per_s, spec.host.memory_latency_s};
    for (int socket = 0; socket < sockets; ++socket)
      memory.push_back(add("socket" + std::to_string(socket) + ".memory", link, false));
  }

  // Return the PCIe switch of a GPU or of a NIC; -1 in an nvswitch node, whose parts are attached to the root complex.
  int switch_of_gpu(int gpu) const { return spec.intra_node.pcie.switch_of(gpu); }
  int switch_of_nic(int nic) const { return spec.nic.attach.empty() ? -1 : spec.nic.attach[to_index(nic)]; }
  int socket_of(int pcie_switch) const {
    return pcie_switch < 0 ? 0 : spec.intra_node.pcie.switches[to_index(pcie_switch)].socket;
  }

  void cross_sockets(Path& path, int from, int to) const {
    if (from != to) path.push_back(socket_link[to_index(from * sockets + to)]);
  }
  // Between two switches, through the memory of socket `stage` unless that is -1.
  Path between_switches(int from, int to, int stage) const {
    Path path;
    if (from == to && stage < 0) return path;
    if (from >= 0) path.push_back(uplink[to_index(from)].up);
    const int middle = stage < 0 ? socket_of(to) : stage;
    cross_sockets(path, socket_of(from), middle);
    if (stage >= 0) path.push_back(memory[to_index(stage)]);
    cross_sockets(path, middle, socket_of(to));
    if (to >= 0) path.push_back(uplink[to_index(to)].down);
    return path;
  }
  Path from_socket(int socket, int to) const {
    Path path;
    cross_sockets(path, socket, socket_of(to));
    if (to >= 0) path.push_back(uplink[to_index(to)].down);
    return path;
  }
  Path to_socket(int from, int socket) const {
    Path path;
    if (from >= 0) path.push_back(uplink[to_index(from)].up);
    cross_sockets(path, socket_of(from), socket);
    return path;
  }

  Path gpu_to_gpu(int from, int to) {
    const IntraNodeSpec& intra_node = spec.intra_node;
    if (intra_node.kind == IntraNodeKind::nvswitch)
      return {gpu_nvlink[to_index(from)].up, gpu_nvlink[to_index(to)].down};
    if (const int links = intra_node.mesh.links_between(from, to); links > 0) {
      const LinkSpec link{links * intra_node.mesh.link.bandwidth_bytes_per_s, intra_node.mesh.link.latency_s};
      return {add("gpu" + std::to_string(from) + "-" + std::to_string(to) + ".nvlink", link, true)};
    }
    const int here = switch_of_gpu(from), there = switch_of_gpu(to);
    const bool is_cut = socket_of(here) != socket_of(there) && !intra_node.pcie.peer_across_sockets;
    const bool staged = is_cut || !intra_node.pcie.has_peers();
    Path path{gpu_pcie[to_index(from)].up};
    if (!staging.empty()) path.push_back(staging[to_index(from)]);
    append(path, between_switches(here, there, staged ? socket_of(here) : -1));
    path.push_back(gpu_pcie[to_index(to)].down);
    return path;
  }
  // The GPU's socket, if data between the GPU and its NIC is staged in memory; -1 if they reach each other.
  int staging_socket(int gpu_switch, int nic_switch) const {
    const bool direct = spec.nic.gpudirect &&
                        (socket_of(gpu_switch) == socket_of(nic_switch) || spec.intra_node.pcie.peer_across_sockets);
    return direct ? -1 : socket_of(gpu_switch);
  }
  // The GPUs divide the NICs that work in order.
  int nic_of(int gpu) const {
    return live_nics[to_index(gpu * static_cast<int>(live_nics.size()) / spec.gpus_per_node)];
  }
  Path gpu_to_port(int gpu) const {
    const int nic = nic_of(gpu), here = switch_of_gpu(gpu), there = switch_of_nic(nic);
    Path path{gpu_pcie[to_index(gpu)].up};
    append(path, between_switches(here, there, staging_socket(here, there)));
    path.push_back(nics[to_index(nic)].up);
    return path;
  }
  Path port_to_gpu(int gpu) const {
    const int nic = nic_of(gpu), here = switch_of_gpu(gpu), there = switch_of_nic(nic);
    Path path{nics[to_index(nic)].down};
    append(path, between_switches(there, here, staging_socket(here, there)));
    path.push_back(gpu_pcie[to_index(gpu)].down);
    return path;
  }
  Path cpu_to_gpu(int gpu) const {
    Path path{cpu_memory.up};
    append(path, from_socket(0, switch_of_gpu(gpu)));
    path.push_back(gpu_pcie[to_index(gpu)].down);
    return path;
  }
  Path gpu_to_cpu(int gpu) const {
    Path path{gpu_pcie[to_index(gpu)].up};
    append(path, to_socket(switch_of_gpu(gpu), 0));
    path.push_back(cpu_memory.down);
    return path;
  }
  Path cpu_to_port() const {
    Path path{cpu_memory.up};
    append(path, from_socket(0, switch_of_nic(live_nics.front())));
    path.push_back(nics[to_index(live_nics.front())].up);
    return path;
  }
  Path port_to_cpu() const {
    Path path{nics[to_index(live_nics.front())].down};
    append(path, to_socket(switch_of_nic(live_nics.front()), 0));
    path.push_back(cpu_memory.down);
    return path;
  }

  Path memory_to_gpu(int socket, int gpu) const {
    Path path{loader[to_index(socket)], memory[to_index(socket)]};
    append(path, from_socket(socket, switch_of_gpu(gpu)));
    path.push_back(gpu_pcie[to_index(gpu)].down);
    return path;
  }
  Path port_to_memory(int socket) const {
    Path path{nics[to_index(live_nics.front())].down};
    append(path, to_socket(switch_of_nic(live_nics.front()), socket));
    path.push_back(memory[to_index(socket)]);
    return path;
  }
  // Returns the route from a socket's memory to a GPU of that socket. The first NIC's socket also has a route from the
  // port to its memory. Others are empty.
  Path path_of_memory(int from, int to) const {
    const int port = layout.port();
    if (from == port && !nics.empty() && to - layout.memory(0) == layout.socket_of_first_nic_)
      return port_to_memory(layout.socket_of_first_nic_);
    if (to < layout.cpu() && from > port && from - layout.memory(0) == layout.socket_of_gpu(to))
      return memory_to_gpu(layout.socket_of_gpu(to), to);
    return {};
  }

  Path path(int from, int to) {
    const int cpu = layout.cpu(), port = layout.port();
    if (from > port || to > port) return path_of_memory(from, to);
    if (from == to || ((from == port || to == port) && nics.empty())) return {};
    if (from < cpu && to < cpu) return gpu_to_gpu(from, to);
    if (from < cpu) return to == cpu ? gpu_to_cpu(from) : gpu_to_port(from);
    if (to < cpu) return from == cpu ? cpu_to_gpu(to) : port_to_gpu(to);
    return from == cpu ? cpu_to_port() : port_to_cpu();
  }

  const ClusterSpec& spec;
  NodeLayout& layout;
  int sockets = 1;
  std::vector<Duplex> gpu_pcie, gpu_nvlink, uplink, nics;
  std::vector<int> live_nics;
  std::vector<int> staging;      // by GPU; empty: NICs reach GPUs
  std::vector<int> socket_link;  // from * sockets + to
  std::vector<int> memory;       // by socket
  std::vector<int> loader;       // by socket
  Duplex cpu_memory{};
};

NodeLayout::NodeLayout(const ClusterSpec& spec, bool has_memories) : NodeLayout(spec, has_memories, {}) {
  drop_unused_links({this});
}

NodeLayout::NodeLayout(const ClusterSpec& spec, bool has_memories, const std::set<int>& dead_nics)
    : gpus_(spec.gpus_per_node), memories_(has_memories ? std::max(1, spec.intra_node.pcie.sockets()) : 0) {
  Builder builder(spec, *this, dead_nics);
  for (int gpu = 0; gpu < gpus_; ++gpu) socket_of_gpu_.push_back(builder.socket_of(builder.switch_of_gpu(gpu)));
  if (spec.nic.per_node > 0) socket_of_first_nic_ = builder.socket_of(builder.switch_of_nic(builder.live_nics.front()));
  for (int from = 0; from < endpoints(); ++from)
    for (int to = 0; to < endpoints(); ++to) routes_.push_back(builder.path(from, to));
}

std::vector<NodeLayout> NodeLayout::with_dead_nics(const ClusterSpec& spec, bool has_memories,
                                                   const std::vector<std::set<int>>& dead_nics) {
  std::vector<NodeLayout> layouts;
  for (const std::set<int>& dead : dead_nics) layouts.push_back(NodeLayout(spec, has_memories, dead));
  std::vector<NodeLayout*> all;
  for (NodeLayout& layout : layouts) all.push_back(&layout);
  drop_unused_links(all);
  return layouts;
}

// The layouts have the same links in the same order.
void NodeLayout::drop_unused_links(std::vector<NodeLayout*> layouts) {
  std::vector<int> number(layouts.front()->links_.size(), -1);
  for (const NodeLayout* layout : layouts)
    for (const Path& route : layout->routes_)
      for (int link : route) number[to_index(link)] = 0;
  int used = 0;
  for (int& new_number : number)
    if (new_number == 0) new_number = used++;
  for (NodeLayout* layout : layouts) {
    std::vector<NodeLink> links;
    for (std::size_t link = 0; link < number.size(); ++link)
      if (number[link] >= 0) links.push_back(std::move(layout->links_[link]));
    layout->links_ = std::move(links);
    for (Path& route : layout->routes_)
      for (int& link : route) link = number[to_index(link)];
  }
}

const std::vector<int>& NodeLayout::route(int from, int to) const {
  return routes_[to_index(from * endpoints() + to)];
}

double NodeLayout::latency_s(int from, int to) const {
  double latency_s = 0;
  for (int link : route(from, to)) latency_s += links_[to_index(link)].latency_s;
  return latency_s;
}

}  // namespace lockstep::sim::cluster
