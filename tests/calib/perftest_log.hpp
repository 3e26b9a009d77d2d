#pragma once
// Bandwidth tests of perftest in the tool's own layout, with figures of the test's choice.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

struct PerftestLog {
  std::string verb = "RDMA_Write", unit = "MB/sec";
  bool is_both_ways = false;
  std::vector<std::pair<double, double>> rows;  ///< bytes; bytes/s of all directions
  std::string link_type = "IB";
  int mtu_bytes = 4096;
};

inline std::string perftest_log(const PerftestLog& log) {
  const double unit_bytes_per_s = log.unit == "Gb/sec" ? 1.25e8 : 1048576.0;
  std::string text =
      "---------------------------------------------------------------------------------------\n"
      "                    " +
      log.verb + (log.is_both_ways ? " Bidirectional" : "") + " BW Test\n" +
      " Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n"
      " Mtu             : " +
      std::to_string(log.mtu_bytes) + "[B]\n Link type       : " + log.link_type + "\n" +
      " #bytes     #iterations    BW peak[" + log.unit + "]    BW average[" + log.unit + "]   MsgRate[Mpps]\n";
  for (const auto& [bytes, bytes_per_s] : log.rows) {
    char line[160];
    std::snprintf(line, sizeof line, " %-7.0f    5000             0.00               %-7.2f\t\t     %-7.6f\n", bytes,
                  bytes_per_s / unit_bytes_per_s, bytes_per_s / bytes / 1e6);
    text += line;
  }
  return text + "---------------------------------------------------------------------------------------\n";
}

}  // namespace lockstep
