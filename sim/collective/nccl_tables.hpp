#pragma once
// Constants of NCCL 2.28, src/graph/tuning.cc, under their names there and in its units: microseconds and GB/s (1e9
// bytes/s). Indices are protocols LL, LL128, Simple. Constants of a GPU generation are in nccl_generations.hpp.
#include <cstdint>

#include "sim/modules.hpp"

namespace lockstep::sim::collective {
namespace nccl_tables {

struct Latencies {
  double tree[3];
  double ring[3];
  double nvls;       ///< only for the protocol Simple
  double nvls_tree;  ///< only for the protocol Simple
};

constexpr Latencies kBase{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, 0, 0};       // baseLatencies
constexpr Latencies kNvlink{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, 25, 25};    // hwLatencies, NVLINK
constexpr Latencies kPci{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, 0, 0};          // hwLatencies, PCI
constexpr Latencies kNetwork{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, 18, 20.9};  // hwLatencies, NET

/// llMaxBws between nodes. They depend on the CPU; the first is for two nodes, the second for more.
constexpr double kLlIntel[2]{39.0, 20.4};
constexpr double kLlAmd[2]{22.5, 19.0};

/// treeCorrectionFactor: share of its bandwidth that a tree reaches, by size in powers of two from 64 bytes.
constexpr int kTreeSizes = 23;
constexpr double kTreeCorrection[3][kTreeSizes]{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

/// Bytes that NVLS passes on at a time per channel and head (calcCollChunking() in src/enqueue.cc): NVLS_CHUNKSIZE, or
/// half of it for a tree of four or more nodes (src/transport/nvls.cc). Heads are a node's GPUs, at most 32.
constexpr std::int64_t kNvlsChunk = 131072, kNvlsTreeChunkOfMany = 65536;
constexpr int kNvlsHeads = 32;  // NCCL_MAX_NVLS_ARITY
/// Uses `chunk` if the operation has fewer bytes than `times` rounds of all channels and heads. Steps apply in order.
struct NvlsChunkStep {
  int times;
  std::int64_t chunk;
};
constexpr NvlsChunkStep kNvlsSteps[]{{64, 65536}, {8, 32768}, {2, 16384}};
constexpr NvlsChunkStep kNvlsTreeSteps[]{{4, 65536}, {1, 32768}};

}  // namespace nccl_tables
}  // namespace lockstep::sim::collective
