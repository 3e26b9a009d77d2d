#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/index.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/nccl.hpp"

namespace lockstep::sim::collective {
namespace {

// Returns the edges of the double binary tree over the nodes, in both directions. Half of the vector crosses each. If
// both trees send from one node to another, this is one edge with two halves.
std::vector<NcclNodeEdges> edges_of_node_trees(int nodes) {
  // Edges of one tree level repeat at 4 times the distance between their ends.
  struct Edge {
    int apart, place, src;
    bool operator<(const Edge& other) const {
      if (apart != other.apart) return apart < other.apart;
      return place != other.place ? place < other.place : src < other.src;
    }
  };
  std::vector<Edge> edges;
  const Plan tree = double_binary_tree_all_reduce(nodes, 1, 2);
  for (const Phase& phase : tree.phases)
    for (const Transfer& t : phase.transfers) {
      const int apart = t.dst - t.src;
      edges.push_back({apart, t.src % (4 * std::abs(apart)), t.src});
    }
  std::sort(edges.begin(), edges.end());
  std::vector<NcclNodeEdges> single, twofold;
  for (std::size_t i = 0; i < edges.size();) {
    const Edge& edge = edges[i];
    int halves = 0;
    for (; i < edges.size() && !(edge < edges[i]); ++i) ++halves;
    std::vector<NcclNodeEdges>& all = halves == 1 ? single : twofold;
    if (!all.empty() && all.back().dst - all.back().src == edge.apart && all.back().halves == halves) {
      NcclNodeEdges& last = all.back();
      if (last.count == 1) last.stride = edge.src - last.src;
      if (last.src + last.count * last.stride == edge.src) {
        ++last.count;
        continue;
      }
    }
    all.push_back({edge.src, edge.src + edge.apart, halves, 1, 0});
  }
  single.insert(single.end(), twofold.begin(), twofold.end());
  return single;
}

// Sums all messages between ranks over the channels and rounds of an operation. Every node has the same messages
// inside, and the same to other nodes.
class Traffic {
 public:
  explicit Traffic(const NcclSystem& system) : system_(system), ppn_(system.ranks / system.nodes) {}

  // Adds `bytes` from every rank to the next one around the rings. Channel j enters a node at its NIC's GPU and leaves
  // it at the last GPU of its ring: by number, the one before that.
  void add_ring(double bytes) {
    if (system_.nodes > 1 && !system_.rings.empty()) return add_ordered_rings(bytes);
    const double share = bytes / static_cast<double>(system_.entry_gpus.size());
    std::vector<double> local(to_index(ppn_), bytes);
    for (int entry : system_.entry_gpus) {
      if (system_.nodes == 1) break;
      const int exit = (entry + ppn_ - 1) % ppn_;
      to_next_node_[{exit, entry}] += share;
      local[to_index(exit)] -= share;
    }
    for (int gpu = 0; gpu < ppn_; ++gpu) add_to_neighbours(gpu, local[to_index(gpu)], false);
  }

  // Adds chains over the node's GPUs, upwards and back; the chains of different channels begin at different GPUs.
  void add_chains(double bytes) {
    for (int gpu = 0; gpu < ppn_; ++gpu)
      for (bool backwards : {false, true}) add_to_neighbours(gpu, bytes * (ppn_ - 1) / ppn_, backwards);
  }

  // Adds the switch's traffic: it reads every GPU's vector and returns to each GPU the reduced share that it requested.
  void add_switch(double bytes) {
    for (int gpu = 0; gpu < ppn_; ++gpu) add_to_neighbours(gpu, bytes * (1 + 1.0 / ppn_), false);
  }

  // Adds a double binary tree over the nodes. Each NIC carries its share of the vector.
  void add_node_trees(double bytes) {
    const double share = bytes / static_cast<double>(system_.entry_gpus.size());
    for (int gpu : system_.entry_gpus) half_over_trees_[gpu] += share / 2;
  }

  bool uses_node_trees() const { return !half_over_trees_.empty(); }

  /// `trees`: edges_of_node_trees(), needed if add_node_trees() was called.
  Phase phase(const std::vector<NcclNodeEdges>& trees) const {
    Transfers::Block block;
    for (const auto& [pair, bytes] : in_node_) add(block, pair.first, pair.second, bytes, system_.nodes, 1);
    for (const Message& one : ring_messages_) add(block, one.src, one.dst, one.bytes, system_.nodes, 1);
    for (const auto& [pair, bytes] : to_next_node_) {
      add(block, pair.first, rank(1, pair.second), bytes, system_.nodes - 1, 1);
      add(block, rank(system_.nodes - 1, pair.first), pair.second, bytes, 1, 0);
    }
    if (uses_node_trees())
      for (const NcclNodeEdges& edges : trees)
        for (const auto& [gpu, half] : half_over_trees_)
          add(block, rank(edges.src, gpu), rank(edges.dst, gpu), half * edges.halves, edges.count, edges.stride);
    Phase phase;
    if (!block.empty()) phase.transfers = Transfers(std::move(block));
    return phase;
  }

 private:
  struct Message {
    int src, dst;
    double bytes;
  };
  // Each ring has messages of its own, so that all are equally long: links are shared fairly between messages.
  void add_ordered_rings(double bytes) {
    const double share = bytes / static_cast<double>(system_.rings.size());
    for (const std::vector<int>& ring : system_.rings) {
      for (std::size_t i = 0; i + 1 < ring.size(); ++i) ring_messages_.push_back({ring[i], ring[i + 1], share});
      to_next_node_[{ring.back(), ring.front()}] += share;
    }
  }
  int rank(int node, int gpu) const { return node * ppn_ + gpu; }
  // Adds `count` transfers, each `nodes_apart` nodes after the previous one.
  void add(Transfers::Block& block, int src, int dst, double bytes, int count, int nodes_apart) const {
    if (bytes <= 0) return;
    const int stride = nodes_apart * ppn_;
    block.append(Run{src, dst, static_cast<std::int64_t>(std::ceil(bytes - 1e-6)), false, count, stride, stride});
  }
  void add_to_neighbours(int gpu, double bytes, bool backwards) {
    if (ppn_ == 1 || bytes <= 0) return;
    int links = 0;
    for (const auto& [a, b, count] : system_.nvlinks)
      if (reaches(a, b, gpu)) links += count;
    if (links == 0) in_node_[{gpu, (gpu + (backwards ? ppn_ - 1 : 1)) % ppn_}] += bytes;
    for (const auto& [a, b, count] : system_.nvlinks)
      if (reaches(a, b, gpu)) in_node_[{gpu, a == gpu ? b : a}] += bytes * count / links;
  }
  bool reaches(int a, int b, int gpu) const { return (a == gpu || b == gpu) && a < ppn_ && b < ppn_; }

  const NcclSystem& system_;
  int ppn_;
  std::map<std::pair<int, int>, double> in_node_, to_next_node_;  // bytes by sending and receiving GPU of a node
  std::vector<Message> ring_messages_;                            // between GPUs of a node
  std::map<int, double> half_over_trees_;                         // bytes by GPU
};

}  // namespace

Plan NcclPlanner::plan(NcclOperation operation, std::int64_t bytes) {
  Plan plan{"nccl " + to_string(operation), system_.ranks, bytes, {}};
  if (system_.ranks < 2) return plan;
  const NcclTime choice = nccl_choice(system_, operation, bytes);
  plan.algorithm =
      "nccl " + to_string(operation) + ", " + to_string(choice.algorithm) + ", " + to_string(choice.protocol);
  plan.call = CallTime{choice.latency_s, choice.seconds - choice.latency_s};

  const double all = static_cast<double>(bytes), ranks = system_.ranks;
  Traffic traffic(system_);
  switch (choice.algorithm) {
    case NcclAlgorithm::ring:
      traffic.add_ring((operation == NcclOperation::all_reduce ? 2 : 1) * (ranks - 1) / ranks * all);
      break;
    case NcclAlgorithm::tree:
      traffic.add_chains(all);
      traffic.add_node_trees(all);
      break;
    case NcclAlgorithm::nvls:
      if (operation == NcclOperation::all_reduce)
        traffic.add_switch(all);
      else
        traffic.add_ring((ranks - 1) / ranks * all);
      break;
    case NcclAlgorithm::nvls_tree:
      traffic.add_switch(all);
      traffic.add_node_trees(all);
      break;
  }
  if (traffic.uses_node_trees() && node_trees_.empty()) node_trees_ = edges_of_node_trees(system_.nodes);
  plan.phases.edit().push_back(traffic.phase(node_trees_));
  return plan;
}

Plan nccl_plan(const NcclSystem& system, NcclOperation operation, std::int64_t bytes) {
  return NcclPlanner(system).plan(operation, bytes);
}

}  // namespace lockstep::sim::collective
