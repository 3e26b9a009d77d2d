#pragma once
// Constants of NCCL 2.28, src/graph/tuning.cc, under their names there. Microseconds and GB/s (1e9 bytes/s), as there;
// indices are protocols LL, LL128, Simple, and one node, two nodes, more.
namespace lockstep::sim::nccl_tables {

struct Latencies {
  double tree[3];
  double ring[3];
  double nvls;  ///< Simple alone, as the next
  double nvls_tree;
};

constexpr Latencies kBase{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, 0, 0};       // baseLatencies
constexpr Latencies kNvlink{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, 25, 25};    // hwLatencies, NVLINK
constexpr Latencies kPci{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, 0, 0};          // hwLatencies, PCI
constexpr Latencies kNetwork{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, 18, 20.9};  // hwLatencies, NET

struct Limits {
  double ll_one_node;      ///< llMaxBws, first column
  double ring_ll128[3];    ///< perChMaxRingLL128Bws
  double tree_ll128[3];    ///< perChMaxTreeLL128Bws
  double tree[3];          ///< perChMaxTreeBws
  double nvls_tree[3];     ///< perChMaxNVLSTreeBws
  double nvls_efficiency;  ///< nvlsEfficiency
  double ring_plateau;     ///< on the latency of large Simple rings between nodes
};

constexpr Limits kVolta{39.0, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}, {0, 0, 0}, 0, 1.9};
constexpr Limits kAmpere{87.7, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0, 1.4};
constexpr Limits kHopper{141, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}, {0, 57.7, 45.5}, 0.85, 1.4};
constexpr Limits kBlackwell{282, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}, {0, 96, 43.8}, 0.74, 1.4};

/// llMaxBws between nodes, which go by the CPU: two nodes, more.
constexpr double kLlIntel[2]{39.0, 20.4};
constexpr double kLlAmd[2]{22.5, 19.0};

/// treeCorrectionFactor: share of its bandwidth that a tree reaches, by size in powers of two from 64 bytes.
constexpr int kTreeSizes = 23;
constexpr double kTreeCorrection[3][kTreeSizes]{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

}  // namespace lockstep::sim::nccl_tables
