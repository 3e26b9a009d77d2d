#include "calib/bus_bandwidth.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <vector>

#include "calib/collective_key.hpp"

namespace lockstep::calib {
namespace {

struct Row {
  std::int64_t bytes;
  double seconds;
};

/// A table is identified by operation, library, ranks, nodes and precision.
using Group = std::tuple<std::string, std::string, int, int, std::string>;

std::map<Group, std::vector<Row>> rows_of(const Profile& profile) {
  std::map<Group, std::vector<Row>> groups;
  for (const Sample& sample : profile.samples) {
    if (sample.probe != "collective" || sample.kind != "measured") continue;
    const Group group{sample.key.value("operation", ""), sample.key.value("library", ""), sample.key.value("ranks", 0),
                      sample.key.value("nodes", 1), precision_of_collective(sample.key)};
    if (bus_factor(std::get<0>(group), std::get<2>(group)) == 0) continue;
    groups[group].push_back({sample.key.value("bytes", std::int64_t{0}), sample.median_s()});
  }
  for (auto& [group, rows] : groups)
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes < b.bytes; });
  return groups;
}

/// nccl-tests' name of a number type, and its size.
struct Type {
  const char* name;
  int bytes;
};
Type type_of(const std::string& precision) {
  if (precision == "fp16") return {"half", 2};
  return precision == "bf16" ? Type{"bfloat16", 2} : Type{"float", 4};
}

/// The number of elements as nccl-tests counts them: one rank's part if the operation has parts.
std::int64_t count_of(const std::string& operation, std::int64_t bytes, int ranks, const Type& type) {
  const bool has_parts = operation == "all-gather" || operation == "reduce-scatter" || operation == "all-to-all";
  return bytes / type.bytes / (has_parts ? ranks : 1);
}

}  // namespace

double bus_factor(const std::string& operation, int ranks) {
  if (ranks < 2) return 0;
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == "all-reduce" || operation == "average") return all_reduce_bus_factor(ranks);
  if (operation == "all-gather" || operation == "reduce-scatter" || operation == "all-to-all") return others;
  return operation == "reduce" || operation == "broadcast" || operation == "send-receive" ? 1 : 0;
}

std::string bus_bandwidth_text(const Profile& profile) {
  std::string text;
  for (const auto& [group, rows] : rows_of(profile)) {
    const auto& [operation, library, ranks, nodes, precision] = group;
    const Type type = type_of(precision);
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
                    static_cast<long long>(row.bytes),
                    static_cast<long long>(count_of(operation, row.bytes, ranks, type)), type.name, sum,
                    row.seconds * 1e6, algorithm_bandwidth, algorithm_bandwidth * bus_factor(operation, ranks));
      text += line;
    }
  }
  return text;
}

}  // namespace lockstep::calib
