#include "calib/bus_bandwidth.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <vector>

namespace lockstep::calib {
namespace {

struct Row {
  std::int64_t bytes;
  double seconds;
};

/// Operation, library, ranks, nodes.
using Group = std::tuple<std::string, std::string, int, int>;

std::map<Group, std::vector<Row>> rows_of(const Profile& profile) {
  std::map<Group, std::vector<Row>> groups;
  for (const Sample& sample : profile.samples) {
    if (sample.probe != "collective" || sample.kind != "measured") continue;
    const Group group{sample.key.value("operation", ""), sample.key.value("library", ""), sample.key.value("ranks", 0),
                      sample.key.value("nodes", 1)};
    if (bus_factor(std::get<0>(group), std::get<2>(group)) == 0) continue;
    groups[group].push_back({sample.key.value("bytes", std::int64_t{0}), sample.median_s()});
  }
  for (auto& [group, rows] : groups)
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes < b.bytes; });
  return groups;
}

/// Elements of one rank's part, where nccl-tests counts those.
std::int64_t count_of(const std::string& operation, std::int64_t bytes, int ranks) {
  const bool has_parts = operation == "all-gather" || operation == "reduce-scatter" || operation == "all-to-all";
  return bytes / 4 / (has_parts ? ranks : 1);
}

}  // namespace

double bus_factor(const std::string& operation, int ranks) {
  if (ranks < 2) return 0;
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == "all-reduce" || operation == "average") return 2 * others;
  if (operation == "all-gather" || operation == "reduce-scatter" || operation == "all-to-all") return others;
  return operation == "reduce" || operation == "broadcast" ? 1 : 0;
}

std::string bus_bandwidth_text(const Profile& profile) {
  std::string text;
  for (const auto& [group, rows] : rows_of(profile)) {
    const auto& [operation, library, ranks, nodes] = group;
    const char* const sum = operation == "average" ? "avg"
                            : operation == "all-reduce" || operation == "reduce" || operation == "reduce-scatter"
                                ? "sum"
                                : "none";
    char line[200];
    std::snprintf(line, sizeof line, "# %s, %s, %d ranks on %d nodes\n", operation.c_str(), library.c_str(), ranks,
                  nodes);
    text += line;
    std::snprintf(line, sizeof line, "#%11s  %12s  %8s  %6s  %8s  %6s  %6s\n", "size", "count", "type", "redop", "time",
                  "algbw", "busbw");
    text += line;
    std::snprintf(line, sizeof line, "#%11s  %12s  %8s  %6s  %8s  %6s  %6s\n", "(B)", "(elements)", "", "", "(us)",
                  "(GB/s)", "(GB/s)");
    text += line;
    for (const Row& row : rows) {
      const double algorithm_bandwidth = static_cast<double>(row.bytes) / row.seconds / 1e9;
      std::snprintf(line, sizeof line, "%12lld  %12lld  %8s  %6s  %8.2f  %6.2f  %6.2f\n",
                    static_cast<long long>(row.bytes), static_cast<long long>(count_of(operation, row.bytes, ranks)),
                    "float", sum, row.seconds * 1e6, algorithm_bandwidth,
                    algorithm_bandwidth * bus_factor(operation, ranks));
      text += line;
    }
  }
  return text;
}

}  // namespace lockstep::calib
