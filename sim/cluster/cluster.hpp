#pragma once
// Describes a cluster: its links, and the links that each message crosses. All nodes are identical, except those with
// dead NICs, so that the links and routes of one node are stored (node_layout.hpp). Those of the fabric are formulae
// (fabric.hpp). Building a cluster therefore takes the same time and memory for any number of GPUs. Nothing is simulated
// here; sim/messages/platform.hpp builds SimGrid's platform from it to send messages.
//
// Faults (ClusterSpec::faults) change the bandwidth or the route of single links. A job may use any of the nodes
// (ClusterSpec::nodes_used). Its GPUs are numbered by rank; endpoints and links, by node of the cluster.
//
// A message that shares no link takes exactly latency + bytes / (bandwidth of the narrowest link). Messages that share
// a link divide its bandwidth max-min fairly, whatever their latencies. The routes:
//
//   `same node`      In a pcie-tree: the GPUs' PCIe links, switches, root complexes and, between sockets, the socket
//                    link. In an nvlink-mesh: the NVLinks of the pair or, if it has none, the route of a pcie-tree.
//                    With nvswitch: the NVLinks of both GPUs.
//   `between nodes`  From the GPU to its NIC (in a pcie-tree over the links between them), through the fabric, and from
//                    the receiver's NIC to the GPU.
//   `staged`         A message is staged in host memory if the GPUs cannot reach each other (peer_across_sockets false,
//                    or host_staging) or cannot reach the NIC (gpudirect false). Its route also contains the host
//                    memory's link of each socket where it is staged, with bandwidth and latency. With host_staging
//                    every sender has such a link of its own. Staging is pipelined: the slowest copy counts, not the
//                    sum of copies.
//   `input`          From the memory of a socket to its GPUs, and from the network through NIC 0 to the memory of that
//                    NIC's socket. The route has the links between them and the memory's link, shared with staged
//                    messages.
//
// Links are per direction.
#include <memory>
#include <string>
#include <unordered_map>
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

/// Seconds that software adds to the latency of every message.
struct MessageOverhead {
  double intra_node_s = 0;
  double inter_node_s = 0;
};

/// The parts of a cluster that an input pipeline needs if it shares the cluster's links with messages.
struct InputHosts {
  bool has_memories = false;           ///< one per socket, where batches wait for their copy to the GPU
  double file_server_bytes_per_s = 0;  ///< above 0: bandwidth of each link of one more node, after all others
};

/// Where a message begins or ends.
struct Endpoint {
  int node = 0;
  int part = 0;  ///< number within the node, by its NodeLayout
  bool operator==(const Endpoint& other) const { return node == other.node && part == other.part; }
};

class Cluster {
 public:
  using MessageOverhead = sim::MessageOverhead;

  /// Uses the first ceil(gpus / gpus_per_node) nodes of the cluster or of `nodes_used`, and one more for a file server.
  /// Throws std::invalid_argument if the cluster has fewer GPUs or nodes, InputError if a fault names no link.
  Cluster(const ClusterSpec& spec, int gpus, const InputHosts& input = {});

  /// A smaller cluster: the first GPUs with the same message overhead. Input hosts and bundled messages are dropped.
  Cluster take_first_gpus(int gpus) const;

  const ClusterSpec& spec() const { return spec_; }
  const NodeLayout& layout() const { return layout_; }
  int gpus() const { return gpus_; }
  int nodes() const { return nodes_; }  ///< that the job uses; the file server's node does not count
  /// Nodes that are numbered: those that the job uses and, if they are not the first ones, all others; the file server.
  int all_nodes() const { return numbered_nodes_ + (file_server_bytes_per_s_ > 0 ? 1 : 0); }
  /// Returns the number in the cluster of node `node_of_job` of the job. The job numbers its nodes from 0, by rank.
  int node_at(int node_of_job) const {
    return spec_.nodes_used.empty() ? node_of_job : spec_.nodes_used[static_cast<std::size_t>(node_of_job)];
  }
  int node_of(int gpu) const { return node_at(gpu / spec_.gpus_per_node); }
  /// Layout of a node, which differs from layout() in routes if NICs are dead.
  const NodeLayout& layout_of(int node) const;
  /// True if routes or bandwidths differ from those of SimGrid's zones of the fabric's name.
  bool has_own_routes() const;

  Endpoint gpu(int gpu) const;
  /// Returns the endpoint of a node's CPU, for computing in parallel with the GPUs. Its messages cross host memory and
  /// NIC 0.
  Endpoint cpu(int node) const { return {node, layout_.cpu()}; }

  /// The two ends of a message.
  struct Ends {
    Endpoint from;
    Endpoint to;
  };
  /// Ends of the copy of a batch to the GPU, from memory of the GPU's socket.
  Ends host_copy_ends(int gpu) const;
  /// Returns the ends of reading for a GPU: from the file server by NIC 0 of the GPU's node into memory of that NIC's
  /// socket.
  Ends file_read_ends(int gpu) const;

  /// Returns the route between two different GPUs; the latency is that of the links.
  Route route(int src_gpu, int dst_gpu) const;
  /// Returns the route between two different ends; the latency contains the message overhead.
  Route message_route(Endpoint from, Endpoint to) const;
  /// Writes the same into `route`, whose memory is reused.
  void find_message_route(Endpoint from, Endpoint to, Route& route) const;

  /// Number of links. The links of a node are consecutive, node by node; those of the fabric follow.
  int link_count() const { return first_fabric_link() + fabric_->links(); }
  double link_bandwidth(int link) const;  ///< bytes/s
  std::string link_name(int link) const;

  /// GPUs of a unit. Two units can be exchanged without changing messages, except for the numbers of their links
  /// (fabric.hpp). If there are no smaller units, all GPUs are one unit.
  int gpus_of_unit() const;
  int units() const { return (gpus_ + gpus_of_unit() - 1) / gpus_of_unit(); }
  Fabric::UnitLink unit_of(int link) const;
  int links_of_unit() const;

  /// Gives the node's links 1/ways of their bandwidth; links of the fabric keep theirs. Every message from or to the node
  /// then represents `ways` identical messages, from or to as many nodes.
  void divide_bandwidth_of_node(int node, int ways);

  void set_message_overhead(MessageOverhead overhead) { overhead_ = overhead; }
  /// Returns the seconds before a message's bytes flow: the latency of the route and the overhead.
  double message_latency_s(int src_gpu, int dst_gpu) const { return message_latency_s(gpu(src_gpu), gpu(dst_gpu)); }
  double message_latency_s(Endpoint from, Endpoint to) const;

  /// Describes the model for results: "CM02, exact (no cross traffic, no TCP window, fair sharing)".
  static const char* network_model();

 private:
  int nodes_of_unit() const;  // 0: all
  int first_fabric_link() const { return all_nodes() * links_of_node(); }
  int links_of_node() const { return static_cast<int>(layout_.links().size()); }
  double latency_s(Endpoint from, Endpoint to, double fabric_s) const;
  void apply_faults();
  std::vector<int> find_links(const std::string& name) const;
  int ways_of(int node) const { return ways_.empty() ? 1 : ways_[static_cast<std::size_t>(node)]; }

  ClusterSpec spec_;
  int gpus_;
  int nodes_;
  int numbered_nodes_;
  double file_server_bytes_per_s_;
  NodeLayout layout_;
  std::vector<NodeLayout> layouts_of_faults_;           // of nodes with dead NICs
  std::unordered_map<int, std::size_t> fault_of_node_;  // index in layouts_of_faults_
  std::unordered_map<int, double> bandwidth_share_;     // by link
  std::unique_ptr<Fabric> fabric_;
  MessageOverhead overhead_;
  std::vector<int> ways_;          // by node; empty: 1 everywhere
  std::vector<double> latency_s_;  // by pair of endpoints of a node
};

}  // namespace lockstep::sim::cluster
