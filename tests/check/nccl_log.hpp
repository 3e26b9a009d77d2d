#pragma once
// Logs of nccl-tests in the tool's own layout (nccl-tests at v2.13, src/common.cu), with figures of the test's choice.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::tests {

struct NcclLog {
  std::string operation = "all_reduce";
  int ranks = 8, nodes = 1;
  std::string device = "NVIDIA H100 80GB HBM3";
  std::vector<std::pair<double, double>> rows;  ///< bytes, bus bandwidth in GB/s
};

inline std::string nccl_log(const NcclLog& log) {
  const double share = (log.ranks - 1.0) / log.ranks, factor = log.operation == "all_reduce" ? 2 * share
                                                               : log.operation == "sendrecv" ? 1
                                                                                             : share;
  char line[256];
  std::string text;
  const auto add = [&](auto... values) {
    std::snprintf(line, sizeof line, values...);
    text += line;
  };
  add("# nThread 1 nGpus 1 minBytes %.0f maxBytes %.0f step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 "
      "graph: 0\n#\n# Using devices\n",
      log.rows.front().first, log.rows.back().first);
  for (int rank = 0; rank < log.ranks; ++rank) {
    const int per_node = log.ranks / log.nodes;
    add("#  Rank %2d Group  0 Pid %6d on      node%d device %2d [0x%02x] %s\n", rank, 1000 + rank, rank / per_node,
        rank % per_node, 16 + rank % per_node, log.device.c_str());
  }
  text +=
      "#\n#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  for (const auto& [bytes, bus] : log.rows) {
    const double algorithm = bus / factor, us = bytes / algorithm / 1e3;
    add(" %11.0f  %12.0f     float  %6s      -1  %7.5g  %6.2f  %6.2f      0  %7.5g  %6.2f  %6.2f      0\n", bytes,
        bytes / 4, log.operation == "all_gather" || log.operation == "sendrecv" ? "none" : "sum", us, algorithm, bus,
        us, algorithm, bus);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " + std::to_string(log.rows.back().second) +
         "\n#\n";
}

}  // namespace lockstep::tests
