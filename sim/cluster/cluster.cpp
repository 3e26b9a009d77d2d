#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "engine/base/index.hpp"
#include "sim/cluster/engine.hpp"
#include "sim/cluster/platform.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

// Where a host is; SimGrid carries it with the host, so that the latency callback needs no search.
struct Place {
  int node;
  int endpoint;  // in NodeLayout
};

using PlaceOfHost = simgrid::xbt::Extension<sg4::Host, Place>;

}  // namespace

class Cluster::Impl {
 public:
  Impl(const ClusterSpec& spec, int gpus, const InputHosts& input)
      : spec_(spec),
        gpus_(gpus),
        nodes_((gpus + spec.gpus_per_node - 1) / spec.gpus_per_node),
        has_file_server_(input.file_server_bytes_per_s > 0),
        layout_(spec, input.has_memories) {
    if (gpus < 1 || nodes_ > spec.nodes)
      throw std::invalid_argument("cluster \"" + spec.name + "\" has no " + std::to_string(gpus) + " GPUs, but " +
                                  std::to_string(spec.nodes * spec.gpus_per_node));
    if (has_file_server_ && (nodes_ == spec.nodes || !input.has_memories))
      throw std::invalid_argument("cluster \"" + spec.name + "\" has no node for a file server, or no memories");
    start_engine();
    platform_ = build_platform(spec_, layout_, nodes_ + (has_file_server_ ? 1 : 0));
    for (std::size_t link = 0; link < platform_.links.size(); ++link)
      link_index_.emplace(platform_.links[link].link, static_cast<int>(link));
    if (has_file_server_)
      for (PlatformLink* link : links_of_node(nodes_, false)) set_bandwidth(*link, input.file_server_bytes_per_s);
    note_places();
    tabulate_latencies();
    compat::set_latency_factor(platform_.fabric, [this](double, const sg4::Host* src, const sg4::Host* dst,
                                                        const std::vector<sg4::Link*>& links, const auto&) {
      return true_latency_s(*src->extension(place_of_host_), *dst->extension(place_of_host_), links.size()) /
             kRawLatency_s;
    });
  }

  const ClusterSpec& spec() const { return spec_; }
  const Platform& platform() const { return platform_; }
  int gpus() const { return gpus_; }
  int nodes() const { return nodes_; }

  sg4::Host* gpu_host(int gpu) const {
    if (gpu < 0 || gpu >= gpus_) throw std::out_of_range("no GPU " + std::to_string(gpu));
    return platform_.gpus[at(gpu)];
  }

  const Route& route(int src, int dst) {
    const auto key = static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint32_t>(dst);
    const auto cached = routes_.find(key);
    return cached != routes_.end() ? cached->second : routes_.emplace(key, find_route(src, dst)).first->second;
  }

  Route message_route(const sg4::Host* src, const sg4::Host* dst) const {
    if (src == dst) throw std::invalid_argument("no route from " + src->get_name() + " to itself");
    Route route = links_between(src, dst);
    route.latency_s =
        true_latency_s(*src->extension(place_of_host_), *dst->extension(place_of_host_), route.links.size());
    return route;
  }

  void bundle_messages_of_node(int node, int ways) {
    for (PlatformLink* link : links_of_node(node, true)) set_bandwidth(*link, link->bandwidth_bytes_per_s / ways);
    routes_.clear();
  }

  Ends copy_to_gpu(int gpu) const {
    const int node = gpu / spec_.gpus_per_node, socket = layout_.socket_of_gpu(gpu % spec_.gpus_per_node);
    return {memory(node, socket), gpu_host(gpu)};
  }
  Ends read_for_gpu(int gpu) const {
    if (!has_file_server_) throw std::logic_error("the cluster has no file server");
    return {platform_.cpus.at(at(nodes_)), memory(gpu / spec_.gpus_per_node, layout_.socket_of_first_nic())};
  }

  void set_message_overhead(MessageOverhead overhead) { overhead_ = overhead; }
  double message_latency_s(int src, int dst) {
    const bool same_node = src / spec_.gpus_per_node == dst / spec_.gpus_per_node;
    return route(src, dst).latency_s + (same_node ? overhead_.intra_node_s : overhead_.inter_node_s);
  }

 private:
  sg4::Host* memory(int node, int socket) const {
    return platform_.memories.at(at(node * layout_.memories() + socket));
  }

  // With its port to the fabric, or without.
  std::vector<PlatformLink*> links_of_node(int node, bool with_port) {
    const std::string name = "node" + std::to_string(node) + ".";
    std::vector<PlatformLink*> links;
    for (PlatformLink& link : platform_.links)
      if (link.name.rfind(name, 0) == 0 || (with_port && link.name.rfind("fabric." + name, 0) == 0))
        links.push_back(&link);
    return links;
  }
  static void set_bandwidth(PlatformLink& link, double bytes_per_s) {
    link.bandwidth_bytes_per_s = bytes_per_s;
    link.link->set_bandwidth(bytes_per_s);
  }

  Route find_route(int src, int dst) const {
    if (src == dst) throw std::invalid_argument("no route from GPU " + std::to_string(src) + " to itself");
    Route route = links_between(gpu_host(src), gpu_host(dst));
    if (spec_.fabric.kind == FabricKind::star && src / spec_.gpus_per_node != dst / spec_.gpus_per_node)
      route.latency_s += spec_.fabric.link.latency_s;
    return route;
  }

  // The latency is that of the links alone.
  Route links_between(const sg4::Host* src, const sg4::Host* dst) const {
    std::vector<sg4::Link*> links;
    double raw_latency_s = 0;
    src->route_to(dst, links, &raw_latency_s);
    Route route{{}, 0, std::numeric_limits<double>::infinity()};
    for (const sg4::Link* link : links) {
      const int index = link_index_.at(link);
      const PlatformLink& properties = platform_.links[at(index)];
      route.links.push_back(index);
      route.latency_s += properties.latency_s;
      route.bandwidth_bytes_per_s = std::min(route.bandwidth_bytes_per_s, properties.bandwidth_bytes_per_s);
    }
    return route;
  }

  void note_places() {
    place_of_host_ = sg4::Host::extension_create<Place>([](void*) { /* places_ owns them */ });
    places_.reserve(platform_.gpus.size() + platform_.cpus.size() + platform_.memories.size());
    const auto note = [this](sg4::Host* host, int node, int endpoint) {
      places_.push_back({node, endpoint});
      host->extension_set(place_of_host_, &places_.back());
    };
    for (int gpu = 0; gpu < static_cast<int>(platform_.gpus.size()); ++gpu)
      note(platform_.gpus[at(gpu)], gpu / spec_.gpus_per_node, gpu % spec_.gpus_per_node);
    for (int node = 0; node < static_cast<int>(platform_.cpus.size()); ++node) {
      note(platform_.cpus[at(node)], node, layout_.cpu());
      for (int socket = 0; socket < layout_.memories(); ++socket)
        note(memory(node, socket), node, layout_.memory(socket));
    }
  }

  void tabulate_latencies() {
    for (int from = 0; from < layout_.endpoints(); ++from)
      for (int to = 0; to < layout_.endpoints(); ++to) {
        latency_s_.push_back(layout_.latency_s(from, to));
        hops_.push_back(static_cast<int>(layout_.route(from, to).size()));
      }
  }
  std::size_t pair(int from, int to) const { return at(from * layout_.endpoints() + to); }

  // Of a message over `links` links. SimGrid asks for it at every message: no search, no allocation.
  double true_latency_s(const Place& src, const Place& dst, std::size_t links) const {
    if (src.node == dst.node) return latency_s_[pair(src.endpoint, dst.endpoint)] + overhead_.intra_node_s;
    const std::size_t out = pair(src.endpoint, layout_.port()), in = pair(layout_.port(), dst.endpoint);
    const int fabric_links = static_cast<int>(links) - hops_[out] - hops_[in];
    const int fabric_hops = spec_.fabric.kind == FabricKind::star ? 1 : fabric_links;
    return latency_s_[out] + latency_s_[in] + fabric_hops * spec_.fabric.link.latency_s + overhead_.inter_node_s;
  }

  ClusterSpec spec_;
  int gpus_;
  int nodes_;
  bool has_file_server_;
  NodeLayout layout_;
  Platform platform_;
  MessageOverhead overhead_;
  std::unordered_map<const sg4::Link*, int> link_index_;
  std::unordered_map<std::uint64_t, Route> routes_;
  std::vector<Place> places_;
  PlaceOfHost place_of_host_;
  std::vector<double> latency_s_;  // by pair of endpoints of a node, as the next
  std::vector<int> hops_;
};

Cluster::Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input)
    : impl_(std::make_unique<Impl>(spec, gpus, input)) {}
Cluster::~Cluster() = default;

const ClusterSpec& Cluster::spec() const {
  return impl_->spec();
}
int Cluster::gpus() const {
  return impl_->gpus();
}
int Cluster::nodes() const {
  return impl_->nodes();
}
int Cluster::node_of(int gpu) const {
  return gpu / impl_->spec().gpus_per_node;
}
sg4::Host* Cluster::gpu_host(int gpu) const {
  return impl_->gpu_host(gpu);
}
sg4::Host* Cluster::cpu_host(int node) const {
  return impl_->platform().cpus.at(at(node));
}
Cluster::Ends Cluster::copy_to_gpu(int gpu) const {
  return impl_->copy_to_gpu(gpu);
}
Cluster::Ends Cluster::read_for_gpu(int gpu) const {
  return impl_->read_for_gpu(gpu);
}
const Route& Cluster::route(int src_gpu, int dst_gpu) {
  return impl_->route(src_gpu, dst_gpu);
}
Route Cluster::message_route(const sg4::Host* from, const sg4::Host* to) const {
  return impl_->message_route(from, to);
}
int Cluster::link_count() const {
  return static_cast<int>(impl_->platform().links.size());
}
double Cluster::link_bandwidth(int link) const {
  return impl_->platform().links.at(at(link)).bandwidth_bytes_per_s;
}
const std::string& Cluster::link_name(int link) const {
  return impl_->platform().links.at(at(link)).name;
}
void Cluster::bundle_messages_of_node(int node, int ways) {
  impl_->bundle_messages_of_node(node, ways);
}
void Cluster::set_message_overhead(MessageOverhead overhead) {
  impl_->set_message_overhead(overhead);
}
double Cluster::message_latency_s(int src_gpu, int dst_gpu) {
  return impl_->message_latency_s(src_gpu, dst_gpu);
}
const char* Cluster::network_model() {
  return "CM02, exact (no cross traffic, no TCP window, fair sharing)";
}

}  // namespace lockstep::sim
