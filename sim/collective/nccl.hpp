#pragma once
// NCCL's choice of algorithm and protocol, by its own cost model.
//
// T = latency + S / bandwidth for every algorithm (ring, tree, NVLS, NVLSTree) and protocol (LL, LL128, Simple); NCCL
// takes the fastest. Latencies and bandwidths come from tables per GPU generation and from the graph that NCCL finds on
// the machine: channels, and GB/s of each channel inside and between nodes. Formulae and tables: NCCL 2.28,
// src/graph/tuning.cc (what is named in nccl_tables.hpp by the names there). CollNet and PAT are off, as they are
// without SHARP and with several GPUs a node.
//
// With R ranks on N nodes, ppn = R / N, ch channels of b bytes/s (b: inside the node up to two nodes, between nodes
// beyond), B = ch b:
//
//   ring      bus = B (LL: half, at most the LL limit; LL128: 92 %, at most the limit of ch channels)
//             all-reduce: S / T at most bus R / (2(R-1)); latency of 2(R-1) hops of which 2(N-1) pass the network
//   tree      bus = 92 % of B, at most the limit of ch channels; S / T at most bus / 2, times a correction by size;
//             latency of 2(ppn-1) hops in the node and 2 log2 N between nodes
//   NVLS      one node: the switch adds and multicasts; bus = ch min(2 b eff (ch-1)/ch, b between)
//   NVLSTree  several nodes: NVLS in the node and a double tree between nodes
//
// What NCCL's tables leave out, so that its choice hardly knows: before NVLS and NVLSTree are at that bandwidth, their first
// round passes every stage by itself. A round is what all channels and heads pass on together, r = channels heads chunk
// bytes, its chunk by the call's size (src/enqueue.cc); with C and D the bytes/s of all channels in the node and between
// nodes, and p passes of the network,
//
//   fill = r (2 / C + p / D - 1 / B)
//
// which is in the latency of the call that is chosen. 2 nodes of H100 take 25 to 130 us of it, 2 of B200 40 to 175 us.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/nccl_choices.hpp"
#include "sim/collective/nccl_generations.hpp"
#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {

enum class NcclOperation { all_reduce, reduce_scatter, all_gather, broadcast };
std::string to_string(NcclAlgorithm algorithm);
std::string to_string(NcclProtocol protocol);
std::string to_string(NcclOperation operation);

/// What NCCL's search finds on a machine for one algorithm.
struct NcclGraph {
  int channels = 0;  ///< 0: the algorithm cannot run
  double intra_bytes_per_s = 0;
  double inter_bytes_per_s = 0;
};

/// The machine and the job as NCCL sees them.
struct NcclSystem {
  NcclGeneration generation = NcclGeneration::hopper;
  int ranks = 1;
  int nodes = 1;                                ///< ranks / nodes GPUs on each
  bool has_nvlink = true;                       ///< between the GPUs of a node; otherwise PCIe
  bool has_gpudirect = true;                    ///< between GPU and NIC
  bool has_amd_cpu = false;                     ///< otherwise Intel
  double nic_latency_s = 0;                     ///< that NCCL's network plugin reports
  NcclGraph ring, tree, nvls;                   ///< NVLSTree uses that of NVLS
  std::vector<int> entry_gpus;                  ///< local GPUs at which rings and trees enter a node: one per NIC
  std::vector<std::array<int, 3>> nvlinks;      ///< of a mesh: local GPU, local GPU, number of links
  std::optional<NcclAlgorithm> only_algorithm;  ///< as NCCL_ALGO
  std::optional<NcclProtocol> only_protocol;    ///< as NCCL_PROTO
  // What was measured beside what the tables say; the choice is by the tables, for NCCL knows nothing else.
  double latency_excess_s = 0;  ///< of every call; may be negative, as the next
  double pass_excess_s = 0;     ///< of every pass of the network (nccl_fit.hpp)
  double bandwidth_factor = 1;  ///< measured bandwidth over the tables'
};

struct NcclTime {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double latency_s;
  double bandwidth_bytes_per_s;  ///< S / (time - latency_s), "algbw"
  double seconds;                ///< by the tables; of nccl_choice() with all that follows
  int network_passes = 0;        ///< one after the other, in its latency
  double fill_s = 0;             ///< of the first round of NVLS and NVLSTree; in the times of nccl_choice() alone
};

/// Every algorithm and protocol that can run the call, in the order of the enums. Empty with one rank.
std::vector<NcclTime> nccl_times(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// The fastest of them by the tables; on more than two nodes, the fastest with its first round, since tables that knew
/// nothing of it would choose NVLSTree for three times the ring's time on slow networks. The first where several are as
/// fast. Needs two ranks or more; throws std::invalid_argument where nothing can run (an only_algorithm that the machine
/// does not have).
NcclTime nccl_choice(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// A measured call.
struct NcclMeasured {
  double bytes;
  double seconds;  ///< by the tables; of nccl_choice() with all that follows
};

/// The excess e and the factor f that make the chosen calls of `system` (measured ones, of one node) last as measured:
///   t_i = L_i + e + S_i / (f B_i)
/// by least squares of the relative error, L_i and B_i from the tables. From one node they are carried over to several:
/// what a call costs before it moves anything, and what share of the tables' bandwidth the machine gives.
/// Needs two sizes. Throws std::invalid_argument where they do not determine a factor above 0.
struct NcclCorrection {
  double latency_excess_s = 0;
  double bandwidth_factor = 1;
};
NcclCorrection fit_nccl(const NcclSystem& system, NcclOperation operation, const std::vector<NcclMeasured>& measured);

/// The call as a plan with NCCL's time (Plan::call). `bytes` is the whole vector: what an all-gather ends with, what a
/// reduce-scatter begins with. Its transfers spread over links as NCCL's channels do: ring and tree over neighbours in
/// the node (over the NVLinks of a mesh in proportion) and over all NICs between nodes. Bytes sent by all ranks:
///   ring       2(R-1) S; reduce-scatter, all-gather and broadcast S
///   tree       2(R-1) S
///   NVLS       R S + S: what the switch reads from every GPU, and the reduced shares that it multicasts; a transfer to
///              the neighbour stands for a GPU's link to and from the switch
///   NVLSTree   the same on each node, and 2(N-1) S between nodes
Plan nccl_plan(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// `count` transfers between nodes, the next one `stride` nodes further on; of a double binary tree over the nodes
/// each carries `halves` halves of a tree's share.
struct NcclNodeEdges {
  int src;
  int dst;
  int halves;
  int count;
  int stride;
};

/// Makes nccl_plan() for many sizes on one system; the trees over its nodes are laid out once.
class NcclPlanner {
 public:
  explicit NcclPlanner(NcclSystem system) : system_(std::move(system)) {}
  Plan plan(NcclOperation operation, std::int64_t bytes);

 private:
  NcclSystem system_;
  std::vector<NcclNodeEdges> node_trees_;
};

}  // namespace lockstep::sim::collective
