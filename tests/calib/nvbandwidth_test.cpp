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
  CHECK(log.samples[2].key["from"] == "gpu0");  // row -> column
  CHECK(log.samples[2].key["to"] == "gpu1");
  CHECK(log.samples[4].key["from"] == "gpu1");  // row <- column
  CHECK(log.samples[4].key["to"] == "gpu0");
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

TEST_CASE("a file that is something else") {
  CHECK_THROWS_WITH(import_nvbandwidth("hello\n", "b.log"), "b.log: no bandwidth of nvbandwidth");
  CHECK_THROWS_WITH(import_nvbandwidth("{\"a\": 1}", "b.json"),
                    Contains("b.json: : missing key") || Contains("missing key \"nvbandwidth\""));
}
