#include "calib/import/imported.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// The documented layout with our own figures.
const std::string kText =
    "nvbandwidth Version: v0.8\n"
    "Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\n"
    "Device 1: NVIDIA H100 80GB HBM3 (00000000:43:00)\n"
    "\n"
    "Running host_to_device_memcpy_ce.\n"
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0     50.00     55.00\n"
    "\n"
    "SUM host_to_device_memcpy_ce 105.00\n"
    "\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    400.00\n"
    " 1    410.00       bad\n"
    "\n"
    "Running device_to_device_memcpy_write_ce.\n"
    "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0      0.00    390.00\n"
    " 1    380.00      0.00\n";

constexpr double kBuffer = 512.0 * 1024 * 1024;

void check_host_copies(const Imported& log) {
  REQUIRE(log.samples.size() >= 2);
  CHECK(log.samples[0].key["from"] == "host");
  CHECK(log.samples[0].key["to"] == "gpu0");
  CHECK(log.samples[0].key["both_ways"] == false);
  CHECK(log.samples[0].seconds[0] == Approx(kBuffer / 50e9));
  CHECK(log.samples[1].key["to"] == "gpu1");
  CHECK(log.device.name == "NVIDIA H100 80GB HBM3");
  CHECK(log.device.count == 2);
}

}  // namespace

TEST_CASE("nvbandwidth's matrices become copies between places") {
  const Imported log = import_nvbandwidth(kText, "b.log");
  check_host_copies(log);
  REQUIRE(log.samples.size() == 6);
  CHECK(log.samples[2].key["from"] == "gpu1");  // a read by the row's GPU
  CHECK(log.samples[2].key["to"] == "gpu0");
  CHECK(log.samples[4].key["from"] == "gpu0");  // a write by the row's GPU
  CHECK(log.samples[4].key["to"] == "gpu1");
  CHECK(log.samples[4].seconds[0] == Approx(kBuffer / 390e9));
  REQUIRE(log.refused.size() == 1);
  CHECK(log.refused[0] == "b.log line 16: \"bad\" is no bandwidth");
}

TEST_CASE("its JSON form, whose numbers are strings") {
  const std::string json = R"json({"nvbandwidth": {"bufferSize": 512,
    "GPU Device list": ["0: NVIDIA H100 80GB HBM3 (00000000:1b:00): (a)", "1: NVIDIA H100 80GB HBM3 (00000000:43:00): (a)"],
    "testcases": [
      {"name": "host_to_device_memcpy_ce", "status": "Passed",
       "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", "bandwidth_matrix": [["50", "55"]]},
      {"name": "multinode_x", "status": "Waived"}]}})json";
  check_host_copies(import_nvbandwidth(json, "b.json"));
}

namespace {

// The rest of what version 0.8 prints, under srun -l and with colours.
const std::string kOtherTests =
    "0: Running device_to_device_bidirectional_memcpy_read_ce.\n"
    "0: memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)\n"
    "0:            0         1\n"
    "0:  0       N/A    180.00\n"
    "0:  1    180.00       N/A\n"
    "0: \n"
    "0: SUM device_to_device_bidirectional_memcpy_read_ce_read1 360.00\n"
    "0: \n"
    "0: memcpy CE GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)\n"
    "0:            0         1\n"
    "0:  0       N/A    200.00\n"
    "0:  1    200.00       N/A\n"
    "0: \n"
    "0: SUM device_to_device_bidirectional_memcpy_read_ce_read2 400.00\n"
    "0: \n"
    "0: memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n"
    "0:            0         1\n"
    "0:  0       N/A    380.00\n"
    "0:  1    382.00       N/A\n"
    "0: \n"
    "0: SUM device_to_device_bidirectional_memcpy_read_ce_total 762.00\n"
    "0: \n"
    "0: \x1b[32mRunning all_to_one_write_ce.\x1b[0m\n"
    "0: memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "0:            0         1\n"
    "0:  0    700.00    710.00\n"
    "0: \n"
    "0: SUM all_to_one_write_ce 1410.00\n"
    "0: \n"
    "0: Running host_device_latency_sm.\n"
    "0: memory latency SM CPU(row) <-> GPU(column) (ns)\n"
    "0:            0         1\n"
    "0:  0    800.00    810.00\n"
    "0: \n"
    "0: SUM host_device_latency_sm 1610.00\n"
    "0: \n"
    "0: Running device_local_copy.\n"
    "0: memcpy local GPU(column) bandwidth (GB/s)\n"
    "0:            0         1\n"
    "0:  0   1500.00   1510.00\n"
    "0: \n"
    "0: SUM device_local_copy 3010.00\n";

void check_other_tests(const Imported& log) {
  REQUIRE(log.samples.size() == 4);
  CHECK(log.samples[0].key["from"] == "gpu0");
  CHECK(log.samples[0].key["to"] == "gpu1");
  CHECK(log.samples[0].key["both_ways"] == true);
  CHECK(log.samples[0].seconds[0] == Approx(kBuffer / 190e9));  // half of 380
  CHECK(log.samples[1].seconds[0] == Approx(kBuffer / 191e9));
  CHECK(log.samples[3].key["from"] == "gpu1");
  CHECK(log.samples[3].key["to"] == "gpu1");
  CHECK(log.samples[3].seconds[0] == Approx(kBuffer / 1510e9));
  REQUIRE(log.refused.size() == 2);
  CHECK(log.refused[0].find(": all_to_one_write_ce is no copy from one place to another") != std::string::npos);
  CHECK(log.refused[1].find(": host_device_latency_sm is no copy from one place to another") != std::string::npos);
}

}  // namespace

TEST_CASE("nvbandwidth: both ways between GPUs, within a GPU, and tests that time no copy") {
  check_other_tests(import_nvbandwidth(kOtherTests, "b.log"));
  // In JSON the three matrices of a test stand one below the other, described as the last.
  check_other_tests(import_nvbandwidth(R"json({"nvbandwidth": {"testcases": [
      {"name": "device_to_device_bidirectional_memcpy_read_ce", "status": "Passed",
       "bandwidth_description": "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
       "bandwidth_matrix": [["N/A", "180"], ["180", "N/A"], ["N/A", "200"], ["200", "N/A"], ["N/A", "380"],
                            ["382", "N/A"]]},
      {"name": "all_to_one_write_ce", "status": "Passed",
       "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
       "bandwidth_matrix": [["700", "710"]]},
      {"name": "host_device_latency_sm", "status": "Passed",
       "bandwidth_description": "memory latency SM CPU(row) <-> GPU(column) (ns)", "bandwidth_matrix": [["800", "810"]]},
      {"name": "device_local_copy", "status": "Passed",
       "bandwidth_description": "memcpy local GPU(column) bandwidth (GB/s)", "bandwidth_matrix": [["1500", "1510"]]}
      ]}})json",
                                       "b.json"));
}

TEST_CASE("a file that is something else") {
  CHECK_THROWS_WITH(import_nvbandwidth("hello\n", "b.log"), "b.log: no bandwidth of nvbandwidth");
  CHECK_THROWS_WITH(import_nvbandwidth("{\"a\": 1}", "b.json"),
                    Contains("b.json: : missing key") || Contains("missing key \"nvbandwidth\""));
}
