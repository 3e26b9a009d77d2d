#include <cmath>
#include <map>

#include "engine/base/index.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/nccl.hpp"

namespace lockstep::sim {
inline namespace collective {
namespace {

// All that ranks exchange in a call, summed over its channels and rounds.
class Traffic {
 public:
  explicit Traffic(const NcclSystem& system) : system_(system), ppn_(system.ranks / system.nodes) {}

  // Every rank sends `bytes` around the rings. Channel j enters a node at its NIC's GPU and leaves it at the GPU
  // before.
  void add_ring(double bytes) {
    const double share = bytes / static_cast<double>(system_.entry_gpus.size());
    for (int node = 0; node < system_.nodes; ++node) {
      std::vector<double> local(at(ppn_), bytes);
      for (int entry : system_.entry_gpus) {
        if (system_.nodes == 1) break;
        const int exit = (entry + ppn_ - 1) % ppn_;
        add(rank(node, exit), rank((node + 1) % system_.nodes, entry), share);
        local[at(exit)] -= share;
      }
      for (int gpu = 0; gpu < ppn_; ++gpu) add_to_neighbours(node, gpu, local[at(gpu)], false);
    }
  }

  // Up a chain over the node's GPUs and down again; the channels' chains begin at different GPUs.
  void add_chains(double bytes) {
    for (int node = 0; node < system_.nodes; ++node)
      for (int gpu = 0; gpu < ppn_; ++gpu)
        for (bool backwards : {false, true}) add_to_neighbours(node, gpu, bytes * (ppn_ - 1) / ppn_, backwards);
  }

  // The switch reads the vector of every GPU and takes the reduced shares from those that asked for them.
  void add_switch(double bytes) {
    for (int node = 0; node < system_.nodes; ++node)
      for (int gpu = 0; gpu < ppn_; ++gpu) add_to_neighbours(node, gpu, bytes * (1 + 1.0 / ppn_), false);
  }

  // A double binary tree over the nodes, each NIC with its share of the vector.
  void add_node_trees(double bytes) {
    const double share = bytes / static_cast<double>(system_.entry_gpus.size());
    const Plan tree = double_binary_tree_all_reduce(system_.nodes, 1, 2);  // one byte of each half over each edge
    for (const Phase& phase : tree.phases)
      for (const Transfer& edge : phase.transfers)
        for (int gpu : system_.entry_gpus) add(rank(edge.src, gpu), rank(edge.dst, gpu), share / 2);
  }

  Phase phase() const {
    Phase phase;
    for (const auto& [pair, bytes] : bytes_)
      phase.transfers.push_back({pair.first, pair.second, static_cast<std::int64_t>(std::ceil(bytes - 1e-6))});
    return phase;
  }

 private:
  int rank(int node, int gpu) const { return node * ppn_ + gpu; }
  void add(int src, int dst, double bytes) {
    if (bytes > 0) bytes_[{src, dst}] += bytes;
  }
  void add_to_neighbours(int node, int gpu, double bytes, bool backwards) {
    if (ppn_ == 1) return;
    int links = 0;
    for (const auto& [a, b, count] : system_.nvlinks)
      if (reaches(a, b, gpu)) links += count;
    if (links == 0) add(rank(node, gpu), rank(node, (gpu + (backwards ? ppn_ - 1 : 1)) % ppn_), bytes);
    for (const auto& [a, b, count] : system_.nvlinks)
      if (reaches(a, b, gpu)) add(rank(node, gpu), rank(node, a == gpu ? b : a), bytes * count / links);
  }
  bool reaches(int a, int b, int gpu) const { return (a == gpu || b == gpu) && a < ppn_ && b < ppn_; }

  const NcclSystem& system_;
  int ppn_;
  std::map<std::pair<int, int>, double> bytes_;
};

}  // namespace

Plan nccl_plan(const NcclSystem& system, NcclOperation operation, std::int64_t bytes) {
  Plan plan{"nccl " + to_string(operation), system.ranks, bytes, {}};
  if (system.ranks < 2) return plan;
  const NcclTime choice = nccl_choice(system, operation, bytes);
  plan.algorithm =
      "nccl " + to_string(operation) + ", " + to_string(choice.algorithm) + ", " + to_string(choice.protocol);
  plan.call = CallTime{choice.latency_s, choice.seconds - choice.latency_s};

  const double all = static_cast<double>(bytes), ranks = system.ranks;
  Traffic traffic(system);
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
  plan.phases.push_back(traffic.phase());
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
