#pragma once
// A cluster as a SimGrid platform: a host per GPU and per node, links for everything that GPUs share.
//
// A message takes latency + bytes / (bandwidth of the narrowest link) when it is alone, exactly; messages that meet on
// a link share its bandwidth max-min fairly, whatever their latencies. The routes:
//
//   same node        pcie-tree: over the GPUs' PCIe links, switches, root complexes and, between sockets, the socket
//                    link; nvlink-mesh: over the NVLinks of the pair, else as a pcie-tree; nvswitch: over both NVLinks.
//   between nodes    to the GPU's NIC (in a pcie-tree over what lies between), the NIC, the fabric, and down again.
//   staged           where GPUs cannot reach each other (peer_across_sockets false) or the NIC (gpudirect false), the
//                    route also contains the link of the host memory of the sockets where the data is staged, with its
//                    bandwidth and latency. Staging is pipelined: it narrows the route, the copies do not add up.
//   input            from memory of a socket to its GPUs, and from the network by NIC 0 to memory of that NIC's socket:
//                    over what lies between and the memory's link, which staged messages share.
//
// Links are per direction. SimGrid is behind this header: include it only to run simulations.
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace simgrid::s4u {
class Host;
}

namespace lockstep::sim {

struct Route {
  std::vector<int> links;  ///< in order
  double latency_s = 0;
  double bandwidth_bytes_per_s = 0;  ///< of the narrowest link
};

/// What software adds to the latency of every message.
struct MessageOverhead {
  double intra_node_s = 0;
  double inter_node_s = 0;
};

/// Hosts of an input pipeline that shares the cluster's links with messages.
struct InputHosts {
  bool has_memories = false;           ///< one per socket, where batches wait for their copy to the GPU
  double file_server_bytes_per_s = 0;  ///< above 0: a node after all others, all of whose own links carry so much
};

class Cluster {
 public:
  using MessageOverhead = sim::MessageOverhead;

  /// Builds the first ceil(gpus / gpus_per_node) nodes of the cluster, and one more for a file server, once per
  /// process: SimGrid's engine is a singleton. Throws std::logic_error when the process already has one, and
  /// std::invalid_argument when the cluster has fewer GPUs or nodes.
  Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const ClusterSpec& spec() const;
  int gpus() const;
  int nodes() const;  ///< without the file server's
  int node_of(int gpu) const;

  /// Capacity 1 (flop/s): a kernel of t seconds is t of work.
  simgrid::s4u::Host* gpu_host(int gpu) const;
  /// One per node, capacity 1, for what runs beside the GPUs. Messages from and to it pass host memory and NIC 0.
  simgrid::s4u::Host* cpu_host(int node) const;

  /// Two ends of a message.
  struct Ends {
    simgrid::s4u::Host* from;
    simgrid::s4u::Host* to;
  };
  /// A batch's copy to the GPU, from memory of the GPU's socket.
  Ends copy_to_gpu(int gpu) const;
  /// Reading for a GPU: from the file server by NIC 0 of the GPU's node into memory of that NIC's socket.
  Ends read_for_gpu(int gpu) const;

  /// As SimGrid routes between two different GPUs; cached. The reference holds as long as the cluster.
  const Route& route(int src_gpu, int dst_gpu);
  /// Between any two hosts, found anew each time; the latency contains the message overhead.
  Route message_route(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const;
  int link_count() const;
  double link_bandwidth(int link) const;  ///< bytes/s
  const std::string& link_name(int link) const;

  /// From now on every message from or to the node stands for `ways` alike ones, to or from as many nodes: its links
  /// carry 1/ways of their bandwidth. Links of the fabric stay as they are.
  void bundle_messages_of_node(int node, int ways);

  void set_message_overhead(MessageOverhead overhead);
  /// Latency of the route + the overhead: what a message pays before its bytes flow.
  double message_latency_s(int src_gpu, int dst_gpu);

  /// For results: "CM02, exact (no cross traffic, no TCP window, fair sharing)".
  static const char* network_model();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Sends a few messages and throws std::runtime_error when one does not take latency + bytes/bandwidth to 1e-9: SimGrid
/// then runs another network model than it was told to. It needs a process of its own, without a Cluster.
void verify_network_model();

}  // namespace lockstep::sim
