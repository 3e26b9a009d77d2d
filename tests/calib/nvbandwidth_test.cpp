#include "calib/import/imported.hpp"
#include "tests/calib/data.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

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
  const Imported log = import_nvbandwidth(tests::data("nvbandwidth_copies.txt"), "b.log");
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
  check_host_copies(import_nvbandwidth(tests::data("nvbandwidth_copies.json"), "b.json"));
}

namespace {

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
  // These lines have the prefix of srun -l and colours.
  check_other_tests(import_nvbandwidth(tests::data("nvbandwidth_others_srun.txt"), "b.log"));
  // In JSON the three matrices of a test stand one below the other, described as the last.
  check_other_tests(import_nvbandwidth(tests::data("nvbandwidth_others.json"), "b.json"));
}

TEST_CASE("a file that is something else") {
  CHECK_THROWS_WITH(import_nvbandwidth("hello\n", "b.log"), "b.log: no bandwidth of nvbandwidth");
  CHECK_THROWS_WITH(import_nvbandwidth("{\"a\": 1}", "b.json"),
                    Contains("b.json: : missing key") || Contains("missing key \"nvbandwidth\""));
}
