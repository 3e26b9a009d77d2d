#pragma once
// NCCL's view of the machine, if a scenario uses "all_reduce": "nccl" (or "collectives": "nccl" of the sharded
// schedule). All keys are optional. Missing keys of the machine follow from the cluster (program/nccl_system.hpp).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calib/profile.hpp"
#include "engine/base/object_format.hpp"
#include "sim/collective/nccl_choices.hpp"
#include "sim/collective/nccl_generations.hpp"

namespace lockstep::sim::scenario {

/// Channels, and bytes/s of each, as NCCL's log prints them: "nChannels 12, bw 30.0/30.0".
struct NcclGraphSpec {
  int channels = 0;
  double intra_bytes_per_s = 0;
  double inter_bytes_per_s = 0;
};

struct NcclSpec {
  NcclGeneration generation = NcclGeneration::hopper;
  bool has_amd_cpu = false;
  double nic_latency_s = 0;
  std::optional<NcclAlgorithm> algorithm;  ///< as NCCL_ALGO; none: NCCL chooses; likewise below
  std::optional<NcclProtocol> protocol;    ///< as NCCL_PROTO
  bool in_switch = true;                   ///< as NCCL_NVLS_ENABLE
  double all_to_all_share = 1;             ///< of the NICs' bandwidth that a split's all-to-alls between nodes reach
  std::optional<NcclGraphSpec> ring, tree, nvls;
  std::shared_ptr<const calib::Profile> profile;  ///< its all-reduces correct latency and bandwidth; null: none
  /// Its all-reduces on one node, (bytes, seconds); empty: none.
  std::vector<std::pair<double, double>> measured;
  int measured_ranks = 0;
  /// A measured all-reduce over several nodes with as many GPUs per node as the cluster's.
  struct BetweenNodes {
    int nodes;
    double bytes;
    double seconds;
  };
  std::vector<BetweenNodes> measured_between_nodes;

  bool is_measured() const { return !measured.empty() || !measured_between_nodes.empty(); }
};

/// The generation of a GPU by its name ("Tesla V100", "H100 SXM5"); none if NCCL's tables lack it.
std::optional<NcclGeneration> nccl_generation(const std::string& gpu_name);

const ObjectFormat<NcclSpec>& nccl_format();

/// Reads "nccl". If the object gives no generation, `gpu_name` determines it. Throws InputError.
NcclSpec read_nccl(const JsonNode& node, const std::string& gpu_name, int gpus_per_node);

}  // namespace lockstep::sim::scenario
