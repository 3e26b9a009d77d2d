// perftest (ib_write_bw and others) in the tool's own layout (linux-rdma/perftest, src/perftest_parameters.c).
#include "calib/import/perftest.hpp"

#include "engine/base/atomic_file.hpp"
#include "tests/base/input_error.hpp"
#include "tests/calib/data.hpp"
#include "tests/calib/perftest_log.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
using lockstep::tests::data;

namespace {

TransferTest only_test(const std::string& text) {
  std::vector<std::string> refused;
  const std::vector<TransferTest> tests = read_perftest(text, "a.txt", refused);
  REQUIRE(tests.size() == 1);
  CHECK(refused.empty());
  return tests.front();
}

double rate(const TransferTest& test, std::size_t row) {
  return test.rows.at(row).bytes / test.rows.at(row).seconds;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("units: a MB/sec of perftest is 2^20 bytes/s, a Gb/sec 1.25e8, and the same bandwidth in both is the same") {
  const double bytes_per_s = 24e9;
  for (const char* unit : {"MB/sec", "MiB/sec", "Gb/sec"}) {
    INFO(unit);
    const TransferTest test =
        only_test(perftest_log({"RDMA_Write", unit, false, {{65536, bytes_per_s}, {1 << 23, bytes_per_s}}}));
    for (std::size_t row : {0, 1}) CHECK(rate(test, row) == Approx(bytes_per_s).epsilon(1e-4));
  }
}

TEST_CASE("a test in both directions counts both, and one direction has half") {
  const TransferTest one = only_test(perftest_log({"Send", "Gb/sec", false, {{1 << 20, 12e9}}}));
  const TransferTest both = only_test(perftest_log({"Send", "Gb/sec", true, {{1 << 20, 24e9}}}));
  CHECK_FALSE(one.is_both_ways);
  CHECK(both.is_both_ways);
  CHECK(rate(both, 0) == Approx(rate(one, 0)).epsilon(1e-4));
}

TEST_CASE("a sweep over sizes has the facts of its head, and its rows in order") {
  const TransferTest test = only_test(data("perftest_write_bw.txt"));
  CHECK(test.name() == "RDMA_Write BW");
  CHECK(test.device == "mlx5_0");
  CHECK(test.link_type == "IB");
  CHECK(test.mtu_bytes == 4096);
  CHECK(test.queue_pairs == 1);
  REQUIRE(test.rows.size() == 5);
  CHECK(test.rows.back().bytes == 8388608);
  CHECK(rate(test, 4) == Approx(47000.0 * 1048576));
}

TEST_CASE("latency is the typical time, half a round trip; that of a read is a whole one") {
  const std::string text = data("perftest_write_lat.txt");
  const TransferTest write = only_test(text);
  REQUIRE(write.rows.size() == 2);
  CHECK(write.rows.front().seconds == Approx(1.2e-6));
  CHECK_FALSE(write.is_round_trip());
  for (const char* verb : {"RDMA_Read", "Atomic FETCH_AND_ADD"})  // perftest's rtt_factor
    CHECK(only_test(replaced(text, "RDMA_Write", verb)).is_round_trip());
  // -D: "t_avg[usec]    tps average" alone
  const std::size_t head = text.find(" #bytes");
  const TransferTest by_duration = only_test(text.substr(0, head) +
                                             " #bytes        #iterations       t_avg[usec]    tps average\n"
                                             " 2             826441            1.21           413220.11\n");
  CHECK(by_duration.rows.front().seconds == Approx(1.21e-6));
}

TEST_CASE("figures of perftest that contradict each other are refused with both") {
  const std::string text = data("perftest_write_bw.txt"), lat = data("perftest_write_lat.txt");
  const auto error = [](const std::string& one) {
    std::vector<std::string> refused;
    return error_of([&] { read_perftest(one, "a.txt", refused); });
  };
  // Gigabits under a head of megabytes.
  const std::string unit = error(replaced(text, "BW average[MB/sec]", "BW average[Gb/sec]"));
  CHECK_THAT(unit, Contains("BW average is 8.01 Gb/sec") && Contains("MsgRate 4.199547 Mpps"));
  CHECK_THAT(error(replaced(text, "47100.00", "41000.00")), Contains("BW peak is 41000") && Contains("47000"));
  CHECK_THAT(error(replaced(text, "RDMA_Write BW Test", "RDMA_Write Latency Test")),
             Contains("title is \"RDMA_Write Latency Test\"") && Contains("table has bandwidths"));
  CHECK_THAT(error(replaced(lat, "1.12 ", "1.42 ")), Contains("t_min[usec] is 1.42") && Contains("1.2"));
  CHECK_THAT(error(replaced(text, "BW average[MB/sec]", "BW average[furlongs]")), Contains("allowed: MB/sec"));
  CHECK_THAT(error("# nothing\n"), Contains("no row of perftest"));
}

TEST_CASE("rows that are cut off are refused, and warnings among them are none") {
  std::vector<std::string> refused;
  std::string text = data("perftest_write_bw.txt");
  text = replaced(text, "47000.00\t\t     0.005875", "47000.00");
  const auto tests = read_perftest(text, "a.txt", refused);
  CHECK(tests.front().rows.size() == 4);
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused.front(), Contains("cut off"));
}

TEST_CASE("files of --out_json have no unit: it follows from the rate of messages") {
  const auto json = [](double average, double rate) {
    char text[600];
    std::snprintf(text, sizeof text,
                  "{\n\"test_info\": {\n\"test\": \"RDMA_Write_Bidirectional_BW_Test\",\n\"Dual_port\": \"OFF\",\n"
                  "\"Device\": \"mlx5_0\",\n\"Number_of_qps\": 2,\n\"Mtu\": 4096,\n\"Link_type\": \"Ethernet\"\n},\n"
                  "\"results\": {\n\"MsgSize\": 65536,\n\"n_iterations\": 5000,\n\"BW_peak\": 0.00,\n"
                  "\"BW_average\": %.2f,\n\"MsgRate\": %.6f\n}\n}\n",
                  average, rate);
    return std::string(text);
  };
  const double bytes_per_s = 24e9, rate_mpps = bytes_per_s / 65536 / 1e6;
  for (double unit : {1048576.0, 1.25e8}) {
    const TransferTest test = only_test(json(bytes_per_s / unit, rate_mpps));
    CHECK(test.is_both_ways);
    CHECK(test.queue_pairs == 2);
    CHECK(test.link_type == "Ethernet");
    CHECK(rate(test, 0) == Approx(bytes_per_s / 2).epsilon(1e-3));
  }
  CHECK_THAT(error_of([&] { only_test(json(100, 1)); }), Contains("BW_average: is 100") && Contains("62500 MiB/sec"));
  CHECK(is_perftest(json(1, 1)));
  // Two decimals of a bandwidth: 0.12 of 0.1248 Gb/sec.
  for (double slow_bytes_per_s : {15.6e6, 1e8, 3.3e8})
    CHECK(rate(only_test(json(slow_bytes_per_s / 1.25e8, slow_bytes_per_s / 65536 / 1e6)), 0) ==
          Approx(slow_bytes_per_s / 2).epsilon(0.05));
}

TEST_CASE("samples of perftest are transfers between two nodes, and repetitions one series") {
  const std::string text = data("perftest_write_bw.txt");
  const Imported log = import_perftest(text + text, "a.txt");
  REQUIRE(log.samples.size() == 5);
  const Sample& sample = log.samples.back();
  CHECK(sample.probe == "copy");
  CHECK(sample.key.at("from") == "node0");
  CHECK(sample.key.at("measures") == "bandwidth");
  CHECK(sample.seconds.size() == 2);
}
