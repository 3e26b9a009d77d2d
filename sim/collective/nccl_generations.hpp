#pragma once
// Generations of GPUs as NCCL 2.28 knows them. Each entry has NVLink rates as in src/graph/topo.h, and the graph of a
// full NVSwitch node with the speeds that the search tries (src/graph/search.cc). It also has limits of
// src/graph/tuning.cc under their names there.
//
// Rates are in GB/s (1e9 bytes/s), as in NCCL. If there are three figures, the first is for one node, the second for
// two, the third for more.
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::collective {

enum class NcclGeneration { pascal, volta, ampere, hopper, blackwell };

struct NcclLimits {
  double ll_one_node;      ///< llMaxBws, first column
  double ring_ll128[3];    ///< perChMaxRingLL128Bws
  double tree_ll128[3];    ///< perChMaxTreeLL128Bws
  double tree[3];          ///< perChMaxTreeBws
  double nvls_tree[3];     ///< perChMaxNVLSTreeBws
  double nvls_efficiency;  ///< nvlsEfficiency
  double ring_plateau;     ///< factor on the latency of large Simple rings between nodes
  /// Bus bandwidth of all-reduces that one node's switches add up, as measured; 0: as NCCL's tables say. On 8 B200, NVLS
  /// reaches 830 GB/s (github.com/NVIDIA/nccl issue 1807); the tables say 720, as for rings.
  double nvls_bus = 0;
};

struct NcclGenerationFacts {
  NcclGeneration generation;
  std::string name;
  std::vector<std::string> chips;  ///< words that occur in names of its GPUs
  double nvlink;                   ///< rate of one link
  int links;                       ///< per GPU, with NVSwitch
  int node_channels;               ///< rings and trees of a full NVSwitch node
  double node_speed;               ///< rate per channel
  bool has_nvls;
  int nvls_channels[2];        ///< one node, several (src/transport/nvls.cc: NVLS_NCHANNELS_SM90, _SM100_NVL, _SM100)
  std::vector<double> speeds;  ///< rates per channel within a node, descending
  std::vector<double> network_speeds;
  double fast_channel;  ///< rate from which on each of many channels is split in two (ncclTopoDupChannels)
  NcclLimits limits;
};

inline const std::vector<NcclGenerationFacts>& nccl_generations() {
  static const std::vector<double> speeds{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static const std::vector<double> network{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
  static const NcclLimits volta{39.0, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}, {0, 0, 0}, 0, 1.9};
  static const std::vector<NcclGenerationFacts> all{
      // NCCL has no limits of its own for Pascal.
      {NcclGeneration::pascal, "pascal", {"P100", "P40"}, 18, 4, 4, 18, false, {0, 0}, speeds, network, 25, volta},
      {NcclGeneration::volta, "volta", {"V100"}, 20, 6, 6, 20, false, {0, 0}, speeds, network, 25, volta},
      {NcclGeneration::ampere,
       "ampere",
       {"A100", "A800"},
       20,
       12,
       12,
       20,
       false,
       {0, 0},
       speeds,
       network,
       25,
       {87.7, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0, 1.4}},
      {NcclGeneration::hopper,
       "hopper",
       {"H100", "H200", "H800", "H20", "GH200"},
       20.6,
       18,
       12,
       30,
       true,
       {16, 16},
       {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
       {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3.0, 2.4, 1.2, 0.24, 0.12},
       50,
       {141, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}, 0.85, 1.4}},
      {NcclGeneration::blackwell,
       "blackwell",
       {"B100", "B200", "B300", "GB200", "GB300"},
       40.1,
       18,
       16,
       45,
       true,
       {24, 32},
       {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18},
       {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3.0, 2.4, 1.2, 0.24, 0.12},
       50,
       {282, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 43.8}, 0.74, 1.4, 830}}};
  return all;
}

inline const NcclGenerationFacts& facts_of(NcclGeneration generation) {
  for (const NcclGenerationFacts& facts : nccl_generations())
    if (facts.generation == generation) return facts;
  throw std::logic_error("a generation without facts");
}

inline const Choices<NcclGeneration>& choices_of(NcclGeneration) {
  static const Choices<NcclGeneration> all = [] {
    Choices<NcclGeneration> choices;
    for (const NcclGenerationFacts& facts : nccl_generations()) choices.push_back({facts.generation, facts.name});
    return choices;
  }();
  return all;
}

}  // namespace lockstep::sim::collective
