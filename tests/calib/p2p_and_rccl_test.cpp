// p2pBandwidthLatencyTest, sendrecv_perf and rccl-tests, in the tools' own layouts; figures are ours.
#include "calib/import/imported.hpp"
#include "engine/base/atomic_file.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::string p2p_log() {
  std::string text, why;
  REQUIRE(try_read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/fuzz/corpus/p2p.txt", 1 << 20, text, why));
  return text;
}

double rate(const Imported& log, const std::string& from, const std::string& to, bool both_ways) {
  for (const Sample& sample : log.samples)
    if (sample.key["from"] == from && sample.key["to"] == to && sample.key["both_ways"] == both_ways)
      return sample.key["bytes"].get<double>() / sample.seconds.front() / 1e9;
  return 0;
}

std::string rank_line(int rank, const std::string& group, const std::string& bus) {
  return "#   Rank  " + std::to_string(rank) + group + " Pid  5641" + std::to_string(rank) +
         " on c42f4555f685 device  " + std::to_string(rank) + " [" + bus + "] AMD Instinct MI300X\n";
}

std::string rccl_log(const std::string& group, const std::string& bus_end) {
  std::string text =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0\n#\nrccl-tests: Version develop:ae3e635\n# Using devices\n";
  for (int rank = 0; rank < 2; ++rank)
    text += rank_line(rank, group, "000" + std::to_string(rank) + ":00:00" + bus_end);
  return text +
         "RCCL version : 2.27.7-develop:29e1567\nHIP version  : 7.0.51831-a3e329ad8\n#\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n"
         "   134217728      33554432     float     sum      -1   2684.4   50.00   50.00      0   2684.4   50.00   "
         "50.00      0\n"
         "# Out of bounds values : 0 OK\n";
}

std::string sendrecv_log(int ranks) {
  std::string text = "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824\n# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  101 on  node-0 device  " + std::to_string(rank) +
            " [0x" + std::to_string(10 + rank) + "] NVIDIA H100 80GB HBM3\n";
  return text +
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw #wrong\n"
         "  1073741824     268435456     float    none      -1   2684.4  400.00  400.00      0   2684.4  400.00  "
         "400.00    N/A\n";
}

}  // namespace

TEST_CASE("p2pBandwidthLatencyTest gives copies between GPUs with peer access, half the total of those both ways") {
  const Imported log = import_p2p_bandwidth(p2p_log(), "p2p.txt");
  CHECK(log.samples.size() == 4);
  CHECK(rate(log, "gpu0", "gpu1", false) == Approx(250));
  CHECK(rate(log, "gpu1", "gpu0", false) == Approx(200));
  CHECK(rate(log, "gpu0", "gpu1", true) == Approx(250));
  CHECK(log.device.name == "NVIDIA A100-SXM4-40GB");
  CHECK(log.device.count == 2);
  CHECK(log.samples.front().key["engine"] == "CE");
}

TEST_CASE("GPUs that cannot access each other copy through the host, and other texts are no log") {
  std::string text = p2p_log();
  text.replace(text.find("CAN Access"), 3, "CANNOT");
  CHECK(import_p2p_bandwidth(text, "p2p.txt").samples.front().key["engine"] == "host");
  CHECK_THAT(error_of([] { import_p2p_bandwidth("# nothing\n", "a.txt"); }), Contains("no matrix of bandwidths"));
}

TEST_CASE("rccl-tests are read with both of their lists of ranks") {
  for (const auto& [group, bus_end] : {std::pair<std::string, std::string>{" Group  0", ""}, {"", ".0"}}) {
    const Imported log = import_nccl_tests(rccl_log(group, bus_end), "rccl.txt");
    REQUIRE(log.samples.size() == 2);
    CHECK(log.samples.front().key["ranks"] == 2);
    CHECK(log.device.name == "AMD Instinct MI300X");
  }
}

TEST_CASE("sendrecv_perf of two GPUs is a copy both ways, of more a collective") {
  const Imported two = import_nccl_tests(sendrecv_log(2), "a.txt");
  CHECK(two.samples.front().probe == "copy");
  CHECK(rate(two, "gpu0", "gpu1", true) == Approx(400).epsilon(0.01));
  const Imported four = import_nccl_tests(sendrecv_log(4), "a.txt");
  CHECK(four.samples.front().probe == "collective");
  CHECK(four.samples.front().key["operation"] == "send-receive");
}
