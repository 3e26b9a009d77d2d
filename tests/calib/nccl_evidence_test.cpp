// Logs of nccl-tests tell operation and ranks by busbw / algbw, by their columns and by their list of ranks. The figures
// are ours: 20 us + bytes / 100 GB/s.
#include "calib/import/nccl_evidence.hpp"

#include "calib/bus_bandwidth.hpp"
#include "calib/import/imported.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

const std::vector<int> kRanks{2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 72, 96, 128, 256, 512};

std::string redop_of(const std::string& operation) {
  return operation == "all-reduce" || operation == "reduce-scatter" || operation == "reduce" ? "sum" : "none";
}

std::string root_of(const std::string& operation) {
  return operation == "reduce" || operation == "broadcast" ? "0" : "-1";
}

std::string rows_of(const std::string& operation, double factor) {
  std::string rows =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n";
  for (double bytes = 1024; bytes <= 8e9; bytes *= 8) {
    const double us = 20 + bytes / 100e3, algbw = bytes / us / 1e3;
    char half[100], row[300];
    std::snprintf(half, sizeof half, "%.2f %.2f %.2f 0", us, algbw, factor * algbw);
    std::snprintf(row, sizeof row, "%.0f %.0f float %s %s %s %s\n", bytes, bytes / 4, redop_of(operation).c_str(),
                  root_of(operation).c_str(), half, half);
    rows += row;
  }
  return rows;
}

std::string rank_line(int rank, const std::string& host, int device) {
  char line[200];
  std::snprintf(line, sizeof line, "#  Rank %2d Group  0 Pid %d on %s device %2d [0x%02x] NVIDIA H100\n", rank,
                100 + rank, host.c_str(), device, 16 + device);
  return line;
}

std::string list_of(int ranks) {
  std::string list = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 agg iters: 1\n";
  const int per_node = ranks % 8 == 0 ? 8 : ranks;
  for (int rank = 0; rank < ranks; ++rank)
    list += rank_line(rank, "node" + std::to_string(rank / per_node), rank % per_node);
  return list;
}

std::string log_of(const std::string& operation, int ranks) {
  return list_of(ranks) + rows_of(operation, bus_factor(operation, ranks));
}

std::string import_failure(const std::string& text, const NcclTestsOptions& options = {}) {
  return error_of([&] { import_nccl_tests(text, "a.log", options); });
}

Json key_of(const std::string& text, const NcclTestsOptions& options = {}) {
  return import_nccl_tests(text, "a.log", options).samples.at(0).key;
}

// Printed with two decimals, the largest algbw is 100 GB/s: ratios of less than this are the same in the log.
constexpr double kDistinct = 5e-4;

}  // namespace

TEST_CASE("a log of nccl-tests is read with the operation and ranks that its busbw has, and refused with others") {
  for (const std::string& operation : nccl_operations())
    for (const int ranks : kRanks) {
      INFO(operation << " on " << ranks);
      NcclTestsOptions options;
      options.operation = operation;
      const Imported log = import_nccl_tests(log_of(operation, ranks), "a.log", options);
      CHECK(log.refused.empty());
      const bool is_copy = operation == kSendReceive && ranks == 2;  // between two GPUs
      CHECK(log.samples.at(0).probe == (is_copy ? "copy" : "collective"));
      CHECK((is_copy || log.samples.at(0).key["ranks"] == ranks));
      CHECK((is_copy || log.samples.at(0).key["nodes"] == (ranks % 8 == 0 ? ranks / 8 : 1)));
      for (const int other : kRanks) {
        const double factor = bus_factor(operation, other);
        if (std::abs(factor - bus_factor(operation, ranks)) < kDistinct) continue;
        INFO("busbw of " << other);
        CHECK(import_failure(list_of(ranks) + rows_of(operation, factor), options).find("a.log: busbw / algbw = ") ==
              0);
        // The same with the option for the list.
        NcclTestsOptions given{operation, ranks, 1};
        CHECK(import_failure(rows_of(operation, factor), given).find("a.log: busbw / algbw = ") == 0);
      }
      for (const std::string& other : nccl_operations()) {
        if (other == operation) continue;
        options.operation = other;
        const bool differs = std::abs(bus_factor(other, ranks) - bus_factor(operation, ranks)) > kDistinct ||
                             redop_of(other) != redop_of(operation) || root_of(other) != root_of(operation);
        CHECK(import_failure(log_of(operation, ranks), options).empty() != differs);
      }
    }
}

TEST_CASE("busbw and columns tell an operation and a number of ranks that are not given") {
  for (const int ranks : kRanks) {
    CHECK(key_of(log_of("all-reduce", ranks))["operation"] == "all-reduce");
    CHECK(key_of(log_of("reduce-scatter", ranks))["operation"] == "reduce-scatter");
    CHECK(key_of(log_of("reduce", ranks))["operation"] == "reduce");
    CHECK(key_of(log_of("broadcast", ranks))["operation"] == "broadcast");
  }
  CHECK(import_failure(log_of("all-gather", 8)) ==
        "a.log: the log does not say which collective it timed, and busbw / algbw = 0.875 is all-gather on 8 ranks, or "
        "all-to-all on 8 ranks; allowed: name it (--operation)");
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8})
    CHECK(key_of(rows_of("all-reduce", bus_factor("all-reduce", ranks)))["ranks"] == ranks);
  CHECK(import_failure(rows_of("all-reduce", bus_factor("all-reduce", 16))) ==
        "a.log: the log does not list its hosts, and 16 GPUs are more than a usual node has; allowed: give the number "
        "of nodes (--nodes)");
  CHECK(key_of(rows_of("all-reduce", bus_factor("all-reduce", 16)), {"", 0, 2})["nodes"] == 2);
  CHECK(import_failure(rows_of("broadcast", 1)).find("a.log: the log does not list its ranks; allowed: ") == 0);
}

TEST_CASE("a list of ranks that is not whole does not tell the nodes") {
  const std::string rows = rows_of("all-reduce", bus_factor("all-reduce", 64));
  const std::string elided = rank_line(0, "a", 0) + "......\n" + rank_line(63, "b", 7), first = rank_line(0, "a", 0);
  CHECK(
      import_failure(elided + rows) ==
      "a.log: 2 of 64 ranks are listed, which does not tell their hosts; allowed: give the number of nodes (--nodes)");
  CHECK(key_of(elided + rows, {"", 0, 8})["nodes"] == 8);
  CHECK(key_of(elided + rows, {"", 0, 8})["ranks"] == 64);
  CHECK(import_failure(elided + rows, {"", 0, 1}) ==
        "a.log: the log lists 2 hosts, and --nodes is 1; allowed: leave --nodes out");
  CHECK(import_failure(elided + rows, {"", 32, 0}) ==
        "a.log: the log lists rank 63, so at least 64 ranks, and --ranks is 32; allowed: leave --ranks out");
  CHECK(key_of(first + rows, {"", 64, 8})["ranks"] == 64);
  CHECK(import_failure(list_of(8) + rows, {"all-reduce", 0, 0}).find("1.96875; the ratio") == std::string::npos);
  CHECK(key_of(list_of(8) + rows, {"all-reduce", 64, 8})["nodes"] == 8);  // the end of the list is missing
  CHECK(import_failure(log_of("all-reduce", 8), {"", 16, 0}) ==
        "a.log: the log lists 8 ranks, and --ranks is 16; allowed: leave --ranks out");
  CHECK(import_failure(log_of("all-reduce", 16), {"", 0, 4}) ==
        "a.log: the log lists 2 hosts, and --nodes is 4; allowed: leave --nodes out");
}

TEST_CASE("the same device twice on a host are two hosts of one name") {
  std::string list;
  for (int rank = 0; rank < 16; ++rank) list += rank_line(rank, "localhost", rank % 8);
  const std::string log = list + rows_of("all-reduce", bus_factor("all-reduce", 16));
  CHECK(
      import_failure(log) ==
      "a.log: device 0 [0x10] of localhost is listed as rank 0 and as rank 8, so several hosts share a name; allowed: "
      "give the number of nodes (--nodes)");
  CHECK(key_of(log, {"", 0, 2})["nodes"] == 2);
  // Each process sees its own GPU as device 0: the bus differs.
  std::string apart;
  for (int rank = 0; rank < 2; ++rank)
    apart +=
        "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on a device  0 [0x1" + std::to_string(rank) + "] H100\n";
  CHECK(key_of(apart + rows_of("all-reduce", 1))["nodes"] == 1);
}

TEST_CASE("a run of a single rank exchanges nothing and is refused") {
  for (const std::string& operation : nccl_operations()) {
    const double factor = operation == "reduce" || operation == "broadcast" ? 1 : 0;
    CHECK(import_failure(rank_line(0, "a", 0) + rows_of(operation, factor), {operation, 0, 0})
              .find("a.log: the run has 1 rank, which exchanges nothing; allowed: ") == 0);
    if (factor == 0)
      CHECK(import_failure(rows_of(operation, factor), {operation, 8, 1})
                .find("a.log: the run has 1 rank, which exchanges nothing; allowed: ") == 0);
  }
}

TEST_CASE("a row whose busbw contradicts its algbw is refused with its line, the others are read") {
  std::string log = log_of("all-reduce", 8);
  log += "1048576 262144 float sum -1 30.49 34.39 51.59 0 30.49 34.39 60.18 0\n";
  const Imported imported = import_nccl_tests(log, "a.log");
  REQUIRE(imported.refused.size() == 1);
  CHECK(imported.refused[0].find(": busbw 51.59 GB/s is not 1.75 x algbw = 60.1825 GB/s") != std::string::npos);
}
