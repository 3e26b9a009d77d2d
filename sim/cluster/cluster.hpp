#pragma once
// A cluster as a description: what links there are, and which of them a message takes. Nodes are alike, so that a
// node's links and routes are kept once (node_layout.hpp), and the fabric's are formulae (fabric.hpp): a cluster takes
// no time and no memory that grows with its GPUs. Nothing here runs; sim/cluster/platform.hpp builds SimGrid's platform
// from it, for messages.
//
// A message takes latency + bytes / (bandwidth of the narrowest link) when it is alone, exactly; messages that meet on
// a link share its bandwidth max-min fairly, whatever their latencies. The routes:
//
//   same node        pcie-tree: over the GPUs' PCIe links, switches, root complexes and, between sockets, the socket
//                    link; nvlink-mesh: over the NVLinks of the pair, else as a pcie-tree; nvswitch: over both NVLinks.
//   between nodes    to the GPU's NIC (in a pcie-tree over what lies between), the NIC, the fabric, and down again.
//   staged           where GPUs cannot reach each other (peer_across_sockets false, or host_staging, which is a link of
//                    its own of every sender) or the NIC (gpudirect false), the
//                    route also contains the link of the host memory of the sockets where the data is staged, with its
//                    bandwidth and latency. Staging is pipelined: it narrows the route, the copies do not add up.
//   input            from memory of a socket to its GPUs, and from the network by NIC 0 to memory of that NIC's socket:
//                    over what lies between and the memory's link, which staged messages share.
//
// Links are per direction.
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/fabric.hpp"
#include "sim/cluster/node_layout.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::cluster {

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

/// What an input pipeline needs that shares the cluster's links with messages.
struct InputHosts {
  bool has_memories = false;           ///< one per socket, where batches wait for their copy to the GPU
  double file_server_bytes_per_s = 0;  ///< above 0: a node after all others, all of whose own links carry so much
};

/// Where a message begins or ends.
struct Endpoint {
  int node = 0;
  int part = 0;  ///< of the node, as its NodeLayout counts them
  bool operator==(const Endpoint& other) const { return node == other.node && part == other.part; }
};

class Cluster {
 public:
  using MessageOverhead = sim::MessageOverhead;

  /// The first ceil(gpus / gpus_per_node) nodes of the cluster, and one more for a file server. Throws
  /// std::invalid_argument when the cluster has fewer GPUs or nodes.
  Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input = {});

  /// A smaller cluster: the first GPUs with the same message overhead. Input hosts and bundled messages are dropped.
  Cluster take_first_gpus(int gpus) const;

  const ClusterSpec& spec() const { return spec_; }
  const NodeLayout& layout() const { return layout_; }
  int gpus() const { return gpus_; }
  int nodes() const { return nodes_; }  ///< without the file server's
  int all_nodes() const { return nodes_ + (file_server_bytes_per_s_ > 0 ? 1 : 0); }
  int node_of(int gpu) const { return gpu / spec_.gpus_per_node; }

  Endpoint gpu(int gpu) const;
  /// A node's CPU, for what runs beside the GPUs: messages from and to it pass host memory and NIC 0.
  Endpoint cpu(int node) const { return {node, layout_.cpu()}; }

  /// Two ends of a message.
  struct Ends {
    Endpoint from;
    Endpoint to;
  };
  /// A batch's copy to the GPU, from memory of the GPU's socket.
  Ends host_copy_ends(int gpu) const;
  /// Reading for a GPU: from the file server by NIC 0 of the GPU's node into memory of that NIC's socket.
  Ends file_read_ends(int gpu) const;

  /// Between two different GPUs; the latency is that of the links.
  Route route(int src_gpu, int dst_gpu) const;
  /// Between two different ends; the latency contains the message overhead.
  Route message_route(Endpoint from, Endpoint to) const;
  /// The same into `route`, whose memory is used again.
  void find_message_route(Endpoint from, Endpoint to, Route& route) const;

  /// A node's links stand together, node by node; then come the fabric's.
  int link_count() const { return first_fabric_link() + fabric_->links(); }
  double link_bandwidth(int link) const;  ///< bytes/s
  std::string link_name(int link) const;

  /// GPUs of a unit: units may change places, and nothing of a message but the numbers of its links changes
  /// (fabric.hpp). All GPUs where no smaller units are alike.
  int gpus_of_unit() const;
  int units() const { return (gpus_ + gpus_of_unit() - 1) / gpus_of_unit(); }
  Fabric::UnitLink unit_of(int link) const;
  int links_of_unit() const;

  /// From now on every message from or to the node stands for `ways` alike ones, to or from as many nodes: its links
  /// carry 1/ways of their bandwidth. Links of the fabric stay as they are.
  void bundle_messages_of_node(int node, int ways);

  void set_message_overhead(MessageOverhead overhead) { overhead_ = overhead; }
  /// Latency of the route + the overhead: what a message pays before its bytes flow.
  double message_latency_s(int src_gpu, int dst_gpu) const { return message_latency_s(gpu(src_gpu), gpu(dst_gpu)); }
  double message_latency_s(Endpoint from, Endpoint to) const;

  /// For results: "CM02, exact (no cross traffic, no TCP window, fair sharing)".
  static const char* network_model();

 private:
  int nodes_of_unit() const;  // 0: all
  int first_fabric_link() const { return all_nodes() * links_of_node(); }
  int links_of_node() const { return static_cast<int>(layout_.links().size()); }
  double latency_s(Endpoint from, Endpoint to, int hops) const;
  int ways_of(int node) const { return ways_.empty() ? 1 : ways_[static_cast<std::size_t>(node)]; }

  ClusterSpec spec_;
  int gpus_;
  int nodes_;
  double file_server_bytes_per_s_;
  NodeLayout layout_;
  std::unique_ptr<const Fabric> fabric_;
  MessageOverhead overhead_;
  std::vector<int> ways_;          // by node; empty: 1 everywhere
  std::vector<double> latency_s_;  // by pair of endpoints of a node
};

}  // namespace lockstep::sim::cluster
