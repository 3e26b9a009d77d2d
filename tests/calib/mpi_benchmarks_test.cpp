// Logs of the OSU micro-benchmarks, of the Intel MPI Benchmarks and of gloo's benchmark. The layouts are the tools'; the
// figures are ours: 10 us + bytes / 1 GB/s, so that what comes out is known. 1000 B: 11 us; 100,000 B: 110 us.
#include "calib/import/imported.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

const std::string kOsu =
    "# OSU MPI Allreduce Latency Test v7.3\n"
    "# Datatype: MPI_CHAR.\n"
    "# Size       Avg Latency(us)\n"
    "1000                    11.00\n"
    "100000                 110.00\n";

const std::string kImb =
    "#----------------------------------------------------------------\n"
    "# Benchmarking Allreduce \n"
    "# #processes = 2 \n"
    "# ( 2 additional processes waiting in MPI_Barrier)\n"
    "#----------------------------------------------------------------\n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "            0         1000         0.02         0.03         0.02\n"
    "         1000         1000        10.00        11.00        10.50\n"
    "#----------------------------------------------------------------\n"
    "# Benchmarking Allreduce \n"
    "# #processes = 4 \n"
    "#----------------------------------------------------------------\n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "         1000         1000        20.00        22.00        21.00\n";

const std::string kGloo =
    "Device:      tcp, pci=, iface=lo, speed=-1, addr=[127.0.0.1]\n"
    "Algorithm:   allreduce_ring_chunked\n"
    "Options:     processes=4, inputs=1, threads=1\n"
    "\n"
    "   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples\n"
    "        250         10         11         20         90        0.085      12000\n"
    "      25000        100        110        140        190        0.847       1200\n";

template <typename Import>
std::string import_error(const Import& import, const std::string& text, const CollectiveLogOptions& options = {}) {
  return error_of([&] { import(text, "a.log", options); });
}

CollectiveLogOptions of_ranks(int ranks, int nodes = 0, const std::string& library = "") {
  return {ranks, nodes, library};
}

Json key(const std::string& operation, const std::string& library, int ranks, int nodes, int bytes) {
  return {{"operation", operation}, {"library", library}, {"ranks", ranks}, {"nodes", nodes}, {"bytes", bytes}};
}

}  // namespace

TEST_CASE("a log of OSU's is MPI's, of as many ranks as are given") {
  const Imported log = import_osu(kOsu, "a.log", of_ranks(4, 2));
  REQUIRE(log.samples.size() == 2);
  CHECK(log.refused.empty());
  CHECK(log.samples[0].key == key("all-reduce", "mpi", 4, 2, 1000));
  CHECK(log.samples[1].seconds[0] == Approx(110e-6));
  CHECK(log.samples[1].source == "a.log line 5");
  CHECK(log.samples[1].kind == "imported");
  CHECK(log.device.count == 4);
  CHECK(import_osu(kOsu, "a.log", of_ranks(4, 0, "openmpi")).samples[0].key["library"] == "openmpi");
  CHECK(import_error(import_osu, kOsu).find("does not log its ranks; allowed: give their number (--ranks)") !=
        std::string::npos);
}

TEST_CASE("where OSU logs all ranks the slowest counts, and sizes of a share count for all") {
  const std::string full =
      "# OSU MPI-CUDA Allgather Latency Test v5.9\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "250                     9.00              8.00             11.00        1000\n";
  const Imported log = import_osu(full, "a.log", of_ranks(4));
  REQUIRE(log.samples.size() == 1);
  CHECK(log.samples[0].key == key("all-gather", "mpi", 4, 1, 1000));
  CHECK(log.samples[0].seconds[0] == Approx(11e-6));
  CHECK(import_error(import_osu, full).find("--ranks") != std::string::npos);
  const std::string nccl = "# OSU NCCL Broadcast Latency Test v7.3\n# Size  Avg Latency(us)\n8 1.5\n";
  CHECK(import_osu(nccl, "a.log", of_ranks(2)).samples[0].key == key("broadcast", "nccl", 2, 1, 8));
}

TEST_CASE("every title of OSU's collectives is read as its operation, or refused by its name") {
  const auto import_titled = [](const std::string& title) {
    return import_osu(
        "# OSU " + title + " Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size  Avg Latency(us)\n250 11.00\n", "a.log",
        of_ranks(4));
  };
  const std::vector<std::tuple<std::string, std::string, int>> titles{
      {"Allreduce", "all-reduce", 250},
      {"Allgather", "all-gather", 1000},
      {"Reduce_scatter", "reduce-scatter", 250},
      {"Reduce_scatter_block", "reduce-scatter", 250},
      {"All-to-All Personalized Exchange", "all-to-all", 1000},
      {"Broadcast", "broadcast", 250},
      {"Reduce", "reduce", 250}};
  for (const auto& [title, operation, bytes] : titles)
    for (const auto& [by, library] : {std::pair{"MPI ", "mpi"}, {"MPI-CUDA ", "mpi"}, {"NCCL-CUDA ", "nccl"}}) {
      INFO(by << title);
      const Imported log = import_titled(by + title);
      REQUIRE(log.samples.size() == 1);
      CHECK(log.refused.empty());
      CHECK(log.samples[0].key == key(operation, library, 4, 1, bytes));
    }
  // Ranks send different amounts, only some exchange, only one has data, or compute runs at the same time.
  for (const std::string title :
       {"All-to-Allv Personalized Exchange", "All-to-Allw Personalized Exchange", "Allgatherv", "Gather", "Scatter",
        "Scatterv", "Barrier", "Neighborhood Alltoall", "Non-blocking Allreduce", "Non-blocking All-to-All"}) {
    const std::string error = error_of([&] { import_titled("MPI " + title); });
    INFO(error);
    CHECK(error.find("first refused: a.log line 1: \"" + title + " Latency Test v7.5\" ") != std::string::npos);
  }
}

TEST_CASE("OSU's rows that were checked are read, and those with wrong results are not") {
  const Imported log = import_osu(
      "# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)        Validation\n"
      "1000      11.00      Pass\n2000      12.00      Fail\n",
      "a.log", of_ranks(4));
  REQUIRE(log.samples.size() == 1);
  CHECK(log.samples[0].key["bytes"] == 1000);
  CHECK(log.refused == std::vector<std::string>{"a.log line 4: wrong results"});
}

TEST_CASE("what of OSU is no blocking collective is left out, and that is said") {
  const std::string others = "# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n8   12.0\n";
  const Imported log = import_osu(others + kOsu, "a.log", of_ranks(2));
  CHECK(log.samples.size() == 2);
  REQUIRE(log.refused.size() == 1);
  CHECK(log.refused[0] == "a.log line 1: \"Bandwidth Test v5.6\" is no collective that a profile has");
  CHECK(import_error(import_osu, others, of_ranks(2)).find("a.log: no row of the OSU micro-benchmarks") == 0);
  CHECK(import_error(import_osu, "hello\n", of_ranks(2)).find("a.log: no row of") == 0);
}

TEST_CASE("a log of IMB has a curve for each number of processes, by the slowest of them") {
  const Imported log = import_imb(kImb, "a.log");
  REQUIRE(log.samples.size() == 2);
  CHECK(log.samples[0].key == key("all-reduce", "mpi", 2, 1, 1000));
  CHECK(log.samples[0].seconds[0] == Approx(11e-6));
  CHECK(log.samples[1].key == key("all-reduce", "mpi", 4, 1, 1000));
  const Imported over_nodes = import_imb(kImb, "a.log", of_ranks(0, 2));
  REQUIRE(over_nodes.samples.size() == 1);
  CHECK(over_nodes.samples[0].key == key("all-reduce", "mpi", 4, 2, 1000));
  REQUIRE(over_nodes.refused.size() == 1);
  CHECK(over_nodes.refused[0].find("calls of fewer ranks than 4") != std::string::npos);
  CHECK(import_error(import_imb, kImb, of_ranks(8)).find("is of 2 ranks; allowed: those of --ranks") !=
        std::string::npos);
}

TEST_CASE("a log of gloo's benchmark is gloo's, its elements floats or halves as its bandwidth says") {
  const Imported log = import_gloo(kGloo, "a.log");
  REQUIRE(log.samples.size() == 2);
  CHECK(log.samples[0].key == key("all-reduce", "gloo", 4, 1, 1000));
  CHECK(log.samples[1].key == key("all-reduce", "gloo", 4, 1, 100000));
  CHECK(log.samples[1].seconds[0] == Approx(110e-6));
  std::string halves = kGloo;
  halves.replace(halves.find("0.847"), 5, "0.423");
  CHECK(import_gloo(halves, "a.log").samples[1].key["bytes"] == 50000);
  std::string nanoseconds = kGloo;
  nanoseconds.replace(nanoseconds.find("p50 (us)"), 8, "p50 (ns)");
  CHECK(import_gloo(nanoseconds, "a.log").samples[0].seconds[0] == Approx(11e-9));
}

TEST_CASE("what gloo did several times at once is no time of a call") {
  std::string threads = kGloo;
  threads.replace(threads.find("threads=1"), 9, "threads=2");
  CHECK(import_error(import_gloo, threads)
            .find("a.log line 6: threads = 2: not the time of one call; allowed: --threads 1") == 0);
  std::string other = kGloo;
  other.replace(other.find("allreduce_ring_chunked"), 22, "allreduce_halving_doubling");
  CHECK(import_error(import_gloo, kGloo + other).find("one algorithm of a collective") != std::string::npos);
  std::string uneven = kGloo;
  uneven.replace(uneven.find("allreduce_ring_chunked"), 22, "allgatherv");
  CHECK(import_error(import_gloo, uneven).find("\"allgatherv\" is no collective that a profile has") !=
        std::string::npos);
}
