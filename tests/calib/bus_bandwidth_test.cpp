// Bandwidths as nccl-tests prints them, by hand.
#include "calib/bus_bandwidth.hpp"

#include <algorithm>

#include "calib/import/imported.hpp"
#include "calib/probe/sizes.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Sample collective(const std::string& operation, int ranks, std::int64_t bytes, double seconds) {
  Sample sample;
  sample.probe = "collective";
  sample.key = {{"operation", operation}, {"library", "nccl"}, {"ranks", ranks}, {"nodes", 1}, {"bytes", bytes}};
  sample.seconds = {seconds, seconds, seconds};
  sample.kind = "measured";
  return sample;
}

}  // namespace

// Where NCCL changes its protocol lies between 16 KiB and 64 MiB, and shows in steps of 2 alone.
TEST_CASE("collectives are measured at every power of two from 16 KiB to 64 MiB, and of four beyond") {
  const std::vector<std::int64_t> sizes = collective_sizes_up_to(std::int64_t{1} << 30);
  for (std::int64_t bytes = 16 << 10; bytes <= 64 << 20; bytes *= 2)
    CHECK(std::count(sizes.begin(), sizes.end(), bytes) == 1);
  CHECK(std::is_sorted(sizes.begin(), sizes.end()));
  CHECK(sizes.front() == 8);
  CHECK(sizes.back() == std::int64_t{1} << 30);
  CHECK(std::count(sizes.begin(), sizes.end(), std::int64_t{128} << 20) == 0);
  CHECK(collective_sizes_up_to(100000).back() == 100000);  // the most that was asked for, whatever it is
}

// nccl-tests, PERFORMANCE.md.
TEST_CASE("bus bandwidth is what every link carries") {
  CHECK(bus_factor("all-reduce", 8) == 1.75);
  CHECK(bus_factor("average", 8) == 1.75);
  for (const char* operation : {"all-gather", "reduce-scatter", "all-to-all"}) CHECK(bus_factor(operation, 8) == 0.875);
  for (const char* operation : {"reduce", "broadcast"}) CHECK(bus_factor(operation, 8) == 1);
  CHECK(bus_factor("all-reduce", 1) == 0);
  CHECK(bus_factor("barrier", 8) == 0);
}

// 64 MiB in 300 us are 223.70 GB/s, times 1.75 391.47.
TEST_CASE("collectives are printed by size, as nccl-tests prints its own") {
  Profile profile;
  profile.samples = {collective("all-reduce", 8, 1 << 26, 300e-6), collective("all-reduce", 8, 1024, 12.346e-6),
                     collective("all-gather", 8, 1 << 20, 20e-6)};
  profile.samples.push_back(profile.samples.front());
  profile.samples.back().kind = "imported";
  CHECK(bus_bandwidth_text(profile) ==
        "# all-gather, nccl, 8 ranks on 1 nodes\n"
        "#       size         count      type   redop      time   algbw   busbw\n"
        "#        (B)    (elements)                        (us)  (GB/s)  (GB/s)\n"
        "     1048576         32768     float    none     20.00   52.43   45.88\n"
        "# all-reduce, nccl, 8 ranks on 1 nodes\n"
        "#       size         count      type   redop      time   algbw   busbw\n"
        "#        (B)    (elements)                        (us)  (GB/s)  (GB/s)\n"
        "        1024           256     float     sum     12.35    0.08    0.15\n"
        "    67108864      16777216     float     sum    300.00  223.70  391.47\n");
  CHECK(bus_bandwidth_text({}).empty());
}

// 1 MiB of bfloat16 are 524288 numbers, an eighth of them each rank's part.
TEST_CASE("collectives of half precision have tables of their own, with nccl-tests' names of types") {
  Profile profile;
  for (const char* precision : {"fp16", "bf16"}) {
    profile.samples.push_back(collective("reduce-scatter", 8, 1 << 20, 10e-6));
    profile.samples.back().key["precision"] = precision;
  }
  profile.samples.push_back(collective("reduce-scatter", 8, 1 << 20, 20e-6));
  const std::string text = bus_bandwidth_text(profile);
  CHECK_THAT(text, Contains("     1048576         65536  bfloat16     sum     10.00  104.86   91.75\n"));
  CHECK_THAT(text, Contains("     1048576         65536      half     sum     10.00  104.86   91.75\n"));
  CHECK_THAT(text, Contains("     1048576         32768     float     sum     20.00   52.43   45.88\n"));
}
