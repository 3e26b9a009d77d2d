// perftest between two nodes against the line rate of their NICs, and as the NIC of a cluster file.
#include "sim/explain/transfer.hpp"
#include "sim/explain/check_command.hpp"
#include "sim/explain/check_text.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/data.hpp"
#include "tests/calib/perftest_log.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/check/nccl_log.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

sim::CheckResult check_log(const std::string& text, const std::string& network) {
  const TemporaryFolder folder;
  sim::CheckOptions options;
  options.files = {folder.write("a.txt", text)};
  options.question.job.network.stated = network;
  const auto none = [](const std::string&) { return false; };
  return sim::check(sim::read_measurements(options, catalogue(), none), catalogue(), 1);
}

std::string sweep(double bytes_per_s, const std::string& link_type = "IB", int mtu_bytes = 4096) {
  return perftest_log({"RDMA_Write",
                       "Gb/sec",
                       false,
                       {{4096, 9e9}, {65536, bytes_per_s}, {1 << 20, bytes_per_s}},
                       link_type,
                       mtu_bytes});
}

}  // namespace

TEST_CASE("headers leave less of the line rate the smaller the MTU, and less of Ethernet than of InfiniBand") {
  double before = 0;
  for (int mtu : {256, 512, 1024, 2048, 4096}) {
    const double ethernet = sim::payload_share("Ethernet", mtu), infiniband = sim::payload_share("IB", mtu);
    CHECK(ethernet > before);
    CHECK(infiniband > ethernet);
    CHECK(infiniband < 1);
    before = ethernet;
  }
  // Public runs of ib_send_bw on 100 Gb/s Ethernet: 98.3 Gb/s at an MTU of 4096, 92.6 Gb/s at 1024 (RoCE v2).
  CHECK(sim::payload_share("Ethernet", 4096) == Approx(0.983).epsilon(0.005));
  CHECK(sim::payload_share("Ethernet", 1024) == Approx(0.926).epsilon(0.005));
}

TEST_CASE("a NIC at its line rate is normal, at half of it slow because of the NIC or its path") {
  const sim::CheckResult normal = check_log(sweep(49e9), "8x NDR"), slow = check_log(sweep(24.8e9), "8x NDR");
  CHECK(normal.speed == sim::Speed::normal);
  CHECK(normal.share == Approx(49.0 / 50 / sim::payload_share("IB", 4096)).epsilon(1e-3));
  CHECK(normal.observations.size() == 2);  // 4,096 B are limited by the rate of messages
  CHECK(slow.speed == sim::Speed::slow);
  CHECK(slow.causes.front().id == sim::CauseId::slow_nic);
  CHECK(slow.causes.front().gain == Approx(49.7 / 24.8).epsilon(0.02));
}

TEST_CASE("a normal NIC speaks against a slow one as the cause of slow collectives") {
  const TemporaryFolder folder;
  sim::CheckOptions options;
  options.question.job.network.stated = "8x NDR";
  const std::string slow = folder.write(
      "slow.log", nccl_log({"all_reduce", 16, 2, "NVIDIA H100 80GB HBM3", {{1 << 28, 165}, {1 << 30, 180}}}));
  const auto probability = [&](const std::vector<std::string>& files) {
    options.files = files;
    const auto none = [](const std::string&) { return false; };
    const sim::CheckResult result = sim::check(sim::read_measurements(options, catalogue(), none), catalogue(), 1);
    CHECK(result.speed == sim::Speed::slow);
    for (const sim::RankedCause& cause : result.causes)
      if (cause.id == sim::CauseId::slow_nic) return cause.probability;
    return 0.0;
  };
  const double alone = probability({slow});
  const double with_normal = probability({slow, folder.write("nic.log", sweep(49e9))});
  const double with_slow = probability({slow, folder.write("slow_nic.log", sweep(12.4e9))});
  CHECK(alone > 0.05);
  CHECK(with_normal < 0.2 * alone);
  CHECK(with_slow > alone);
}

TEST_CASE("twice the line rate is normal in both directions at once") {
  const std::string both = perftest_log({"RDMA_Write", "MB/sec", true, {{1 << 20, 98e9}}});
  CHECK(check_log(both, "8x NDR").speed == sim::Speed::normal);
  CHECK(check_log(both, "8x XDR").speed == sim::Speed::slow);
}

TEST_CASE("the latency of a message has the host as a cause, and software RDMA is slow") {
  const std::string text = data("perftest_write_lat.txt");
  CHECK(check_log(text, "8x NDR").speed == sim::Speed::normal);
  const std::string late =
      text.substr(0, text.find(" 2       1000")) +
      " 2       1000          16.55          59.50        21.27               21.69            2.18"
      "    31.37            59.50\n";
  const sim::CheckResult slow = check_log(late, "8x NDR");
  CHECK(slow.speed == sim::Speed::slow);
  CHECK(slow.causes.front().id == sim::CauseId::slow_launch);
}

TEST_CASE("no measured bandwidth is above the line rate: the file or --network is wrong") {
  const double bound = 50e9 * sim::payload_share("IB", 4096);
  for (const double share : {0.5, 0.99, 1.0, 1.02}) CHECK_NOTHROW(check_log(sweep(share * bound), "8x NDR"));
  for (const double share : {1.04, 2.0, 8.0}) {
    const std::string error = error_of([&] { (void)check_log(sweep(share * bound), "8x NDR"); });
    CHECK_THAT(error, Contains("line 9") && Contains("at most 49.7 GB/s") && Contains("--network") && Contains("-b"));
  }
}

TEST_CASE("runs that differ in MTU, link type, queue pairs or ports are measurements of their own") {
  const std::string plain = sweep(24e9, "IB", 4096);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = plain;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK(check_log(plain + plain, "8x HDR").observations.size() == 2);
  const std::string mtu = changed("4096[B]", "1024[B]"), pairs = changed("qps   : 1", "qps   : 4"),
                    ports = changed("Dual-port       : OFF", "Dual-port       : ON");
  for (const std::string& other : {mtu, pairs, ports})
    CHECK(check_log(plain + other, "8x HDR").observations.size() == 4);
  CHECK_THAT(sim::check_text(check_log(plain + pairs, "8x HDR"), {}),
             Contains("1 queue pair,") && Contains("4 queue pairs"));
  CHECK_THAT(sim::check_text(check_log(plain + ports, "8x HDR"), {}), Contains("of 2 ports of"));
}

TEST_CASE("a latency has no NIC at a share of its rate as a cause") {
  const sim::CheckResult result = check_log(data("perftest_write_lat.txt"), "8x NDR");
  for (const sim::RankedCause& cause : result.causes) CHECK(cause.id != sim::CauseId::slow_nic);
}

TEST_CASE("a row that is cut off is left out, and the output says so") {
  std::string text = sweep(49e9);
  const std::size_t last = text.rfind("0.0");
  text = text.substr(0, last) + "\n";
  CHECK_THAT(sim::check_text(check_log(text, "8x NDR"), {}), Contains("1 row is left out") && Contains("line 10"));
}

TEST_CASE("a network that contradicts the file's link type is refused with both, and so is none") {
  const std::string wrong = error_of([] { (void)check_log(sweep(12e9, "Ethernet"), "8x NDR"); });
  CHECK_THAT(wrong, Contains("link type Ethernet") && Contains("InfiniBand"));
  CHECK_THAT(error_of([] { (void)check_log(sweep(12e9), "4x 100 Gb/s RoCE"); }), Contains("link type IB"));
  CHECK_THAT(error_of([] { (void)check_log(sweep(12e9), ""); }), Contains("--network"));
  CHECK_THAT(error_of([] {
               (void)check_log(perftest_log({"Send", "MB/sec", false, {{64, 1e8}}}), "HDR");
             }),
             Contains("64 KiB"));
}

TEST_CASE("a NIC that several transfers of a profile match is refused") {
  const TemporaryFolder folder;
  const std::string run = sweep(49e9);
  std::string other = run;
  other.replace(other.find("qps   : 1"), 9, "qps   : 4");
  folder.write("two.txt", run + other);
  const Outcome imported = run_program(folder.path(""), "calibrate", "import perftest two.txt -o nic.json");
  REQUIRE(imported.code == 0);
  folder.write("two.json", R"({"schema": "lockstep/cluster/1", "name": "two", "nodes": 2, "gpus_per_node": 1,
      "profile": "nic.json", "host": {"memory_bandwidth": "100 GB/s"},
      "gpu": {"name": "mine", "memory": "40 GB", "memory_bandwidth": "1.5 TB/s", "peak": {"fp32": "19.5 TFLOP/s"}},
      "intra_node": {"kind": "nvswitch", "pcie_link": {"bandwidth": "60 GB/s", "latency": "0 us"},
                     "gpu_link": {"bandwidth": "400 GB/s", "latency": "0 us"}},
      "nic": {"per_node": 1, "bandwidth": {"from": "node0", "to": "node1"}, "latency": "1 us", "gpudirect": true},
      "fabric": {"kind": "star", "latency": "0 us"}})");
  const Outcome predicted = run_program(folder.path(""), "simulate", "all-reduce --cluster two.json --bytes 1GB");
  CHECK(predicted.code != 0);
  CHECK_THAT(predicted.err,
             Contains("more than one bandwidth") && Contains("queue_pairs 1") && Contains("queue_pairs 4"));
}

TEST_CASE("perftest leads to predicted all-reduces between nodes without editing") {
  const TemporaryFolder folder;
  const std::string tests = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/calib/data/perftest_write_";
  const Outcome imported =
      run_program(folder.path(""), "calibrate", "import perftest " + tests + "bw.txt " + tests + "lat.txt -o nic.json");
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  folder.write("two.json", R"({"schema": "lockstep/cluster/1", "name": "two", "nodes": 2, "gpus_per_node": 1,
      "profile": "nic.json", "host": {"memory_bandwidth": "100 GB/s"},
      "gpu": {"name": "mine", "memory": "40 GB", "memory_bandwidth": "1.5 TB/s", "peak": {"fp32": "19.5 TFLOP/s"}},
      "intra_node": {"kind": "nvswitch", "pcie_link": {"bandwidth": "60 GB/s", "latency": "0 us"},
                     "gpu_link": {"bandwidth": "400 GB/s", "latency": "0 us"}},
      "nic": {"per_node": 1, "bandwidth": {"from": "node0", "to": "node1"},
              "latency": {"from": "node0", "to": "node1"}, "gpudirect": true},
      "fabric": {"kind": "star", "latency": "0 us"}})");
  const Outcome predicted =
      run_program(folder.path(""), "simulate", "all-reduce --cluster two.json --bytes 1GB --json -");
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  // 47,000 MiB/s each way: a ring of two sends half of the bytes twice.
  const Json answer = Json::parse(predicted.out);
  CHECK(answer.at("rows").at(0).at("seconds").get<double>() == Approx(1e9 / (47000.0 * 1048576)).epsilon(0.02));
  CHECK_THAT(predicted.out, Contains("RDMA_Write BW"));
}

}  // namespace lockstep::tests
