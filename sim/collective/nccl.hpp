#pragma once
// NCCL's choice of algorithm and protocol, by its own cost model.
//
// T = latency + S / bandwidth for every algorithm (ring, tree, NVLS, NVLSTree) and protocol (LL, LL128, Simple). NCCL
// takes the fastest. Latencies and bandwidths come from tables per GPU generation and from the graph that NCCL finds on
// the machine: channels, and GB/s of each channel inside and between nodes. Formulae and tables: NCCL 2.28,
// src/graph/tuning.cc (constants have its names in nccl_tables.hpp). CollNet and PAT are off, because they need SHARP
// or one GPU per node.
//
// There are R ranks on N nodes, ppn = R / N. The ch channels have b bytes/s each, B = ch b. On one or two nodes, b is
// the rate inside a node; on more nodes, the rate between nodes.
//
//   `ring`      bus = B (LL: half, at most the LL limit; LL128: 92 %, at most the limit of ch channels).
//               All-reduce: S / T at most bus R / (2(R-1)); latency of 2(R-1) hops, 2(N-1) of them over the network.
//   `tree`      bus = 92 % of B, at most the limit of ch channels; S / T at most bus / 2, times a correction by size.
//               Latency of 2(ppn-1) hops in the node and 2 log2 N between nodes.
//   `NVLS`      On one node: the switch adds and multicasts; bus = ch min(2 b eff (ch-1)/ch, b between),
//               or at most what was measured, if the generation has such a figure.
//   `NVLSTree`  On several nodes: NVLS in the node and a double tree between nodes.
//
// NCCL's tables leave out how NVLS and NVLSTree fill a pipeline. An all-reduce's first round passes every stage
// before the next one follows. In a round all channels and heads together pass on r = channels heads chunk bytes; the
// chunk depends on the size of the operation (src/enqueue.cc). All channels together have C bytes/s in the node and D
// between nodes, there are p passes of the network, and the tables' bandwidth S / (T - latency) is W:
//
//   `fill = max(0, r (2 / C + p / D - 1 / W))`
//
// This is added to the latency of the chosen operation: 25 to 130 us on 2 nodes of H100, 40 to 175 us on 2 of B200.
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

/// The result of NCCL's search on a machine, for one algorithm.
struct NcclGraph {
  int channels = 0;  ///< 0: the algorithm cannot run
  double intra_bytes_per_s = 0;
  double inter_bytes_per_s = 0;
};

/// The machine and the job from NCCL's point of view.
struct NcclSystem {
  NcclGeneration generation = NcclGeneration::hopper;
  int ranks = 1;
  int nodes = 1;                                ///< each has ranks / nodes GPUs
  bool has_nvlink = true;                       ///< between the GPUs of a node; false: PCIe
  bool has_gpudirect = true;                    ///< between GPU and NIC
  bool has_amd_cpu = false;                     ///< false: Intel
  double nic_latency_s = 0;                     ///< reported by NCCL's network plugin
  NcclGraph ring, tree, nvls;                   ///< NVLSTree uses `nvls`
  std::vector<int> entry_gpus;                  ///< local GPUs at which rings and trees enter a node: one per NIC
  std::vector<std::vector<int>> rings;          ///< local GPUs as each of these rings passes them; empty: by number
  std::vector<std::array<int, 3>> nvlinks;      ///< in a mesh: local GPU, local GPU, number of links
  std::optional<NcclAlgorithm> only_algorithm;  ///< as NCCL_ALGO
  std::optional<NcclProtocol> only_protocol;    ///< as NCCL_PROTO
  // Measured corrections of the tables. The choice uses only the tables, because NCCL knows nothing else.
  double latency_excess_s = 0;  ///< added to the latency of every operation; may be negative, as may pass_excess_s
  double pass_excess_s = 0;     ///< added to the latency of every pass over the network (nccl_fit.hpp)
  double bandwidth_factor = 1;  ///< measured bandwidth over the tables'
};

struct NcclTime {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double latency_s;
  double bandwidth_bytes_per_s;  ///< S / (time - latency_s), "algbw"
  double seconds;                ///< by the tables; from nccl_choice() including corrections and fill
  int network_passes = 0;        ///< sequential passes over the network in its latency
  double fill_s = 0;             ///< first round of NVLS and NVLSTree; only nccl_choice() adds it to `seconds`
};

/// Times of all algorithms and protocols that can run the operation, in the order of the enums. Empty with one rank.
std::vector<NcclTime> nccl_times(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// Returns the fastest by the tables, the first of several equal ones. On more than two nodes it compares times with
/// the first round. Without that round, NVLSTree would be chosen on slow networks, at three times the ring's time.
///
/// Needs at least two ranks. Throws std::invalid_argument if none can run (an only_algorithm that the machine does not
/// have).
NcclTime nccl_choice(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// Returns the thread blocks of a large operation on each GPU: one for each channel of the communicator. NCCL makes two
/// channels of one in its graph, and on Hopper and later GPUs four if there are few and fast ones between nodes
/// (src/graph/connect.cc, ncclTopoPostset()). Operations below half a megabyte run fewer.
int thread_blocks(const NcclSystem& system, NcclAlgorithm algorithm);
/// Returns by which factor computing takes longer while these thread blocks hold a multiprocessor each, half of the GPU at
/// most. 1 if the number of multiprocessors is not known (0).
double slowdown_by(int thread_blocks, int multiprocessors);

struct MeasuredNcclOperation {
  double bytes;
  double seconds;  ///< measured
};

/// Corrects the tables by measured operations on one node of `system`, with an excess e and a factor f:
///   `t_i = L_i + e + S_i / (f B_i)`
/// L_i and B_i are those of the tables. The fit is by least squares of the relative error. The excess is the time of an
/// operation before it moves data; f is the share of the tables' bandwidth that the machine reaches. Both also serve
/// for several nodes. Needs two sizes. Throws std::invalid_argument if they do not determine a factor above 0.
struct NcclCorrection {
  double latency_excess_s = 0;
  double bandwidth_factor = 1;
};
NcclCorrection fit_nccl(const NcclSystem& system, NcclOperation operation,
                        const std::vector<MeasuredNcclOperation>& measured);

/// Returns the operation as a plan with NCCL's time (Plan::call). `bytes` is the whole vector: the output of an
/// all-gather, the input of a reduce-scatter. Transfers spread over links as NCCL's channels do. Ring and tree use
/// neighbours in the node (the NVLinks of a mesh in proportion) and all NICs between nodes. Bytes sent by all ranks:
///   `ring`      2(R-1) S; reduce-scatter, all-gather and broadcast S.
///   `tree`      2(R-1) S.
///   `NVLS`      R S + S: the switch reads S from every GPU, and multicasts the reduced shares. A transfer to the
///               neighbour stands for a GPU's link to and from the switch.
///   `NVLSTree`  The same on each node, and 2(N-1) S between nodes.
Plan nccl_plan(const NcclSystem& system, NcclOperation operation, std::int64_t bytes);

/// Describes `count` transfers between nodes; each starts `stride` nodes after the previous one. In a double binary
/// tree over the nodes, each carries `halves` halves of a tree's share.
struct NcclNodeEdges {
  int src;
  int dst;
  int halves;
  int count;
  int stride;
};

/// Makes nccl_plan() for many sizes on one system; builds the trees over its nodes only once.
class NcclPlanner {
 public:
  explicit NcclPlanner(NcclSystem system) : system_(std::move(system)) {}
  Plan plan(NcclOperation operation, std::int64_t bytes);

 private:
  NcclSystem system_;
  std::vector<NcclNodeEdges> node_trees_;
};

}  // namespace lockstep::sim::collective
