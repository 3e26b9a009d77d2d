// Probes measure the conditions of training: iterations in sequence, vectors that no cache holds, times without the
// host's launches.
#include "calib/probe/probes.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/calib/planted_device.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
using tests::PlantedDevice;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

PlantedDevice quiet(int devices) {
  tests::Disturbances disturbances;
  disturbances.noise = 0;
  return PlantedDevice(devices, disturbances);
}

double settled(const Prepared& prepared) {
  for (int i = 0; i < 3; ++i) prepared.timed.run();
  return prepared.timed.run();
}

Probe average_of(device::Backend& backend, std::int64_t bytes) {
  for (const Probe& probe : collective_probes(backend, bytes))
    if (probe.key["operation"] == "average" && probe.key["bytes"] == bytes) return probe;
  FAIL("no such probe");
  return {};
}

}  // namespace

// A gradient takes 700 us + 64 x 30 us. A copy of its input, which is hidden from the second iteration on, takes a
// third of that. A window of n iterations includes 1/n of it: 1/19 at 50 ms.
TEST_CASE("an iteration's input, which is copied while the one before computes, counts once in a window") {
  const model::Graph lenet = model::zoo_graph("lenet");
  for (const int batch : {64, 640}) {
    PlantedDevice device = quiet(1);
    device.launch_s = 1e-9;  // a device with a clock of its own
    const double gradient_s = device.costs.gradient.of(batch);
    const double truth_s = gradient_s + device.costs.momentum.of(double(lenet.parameter_count()));
    device.idle_start_s = gradient_s / 3;
    const double found_s = settled(iteration_probe(device, lenet, "tf32", 1, batch).prepare());
    const double windows = std::max(5.0, 0.05 / truth_s);
    INFO(batch);
    CHECK(found_s >= truth_s);
    CHECK(found_s <= truth_s + 1.01 * device.idle_start_s / windows);
  }
}

TEST_CASE("iterations beside sums, and those alone in turns with them, are of five at least") {
  const model::Graph lenet = model::zoo_graph("lenet");
  PlantedDevice device = quiet(2);
  device.launch_s = 1e-9;
  const double one_s = 2 * (device.costs.gradient.of(640) + device.costs.momentum.of(double(lenet.parameter_count())));
  device.idle_start_s = one_s / 3;
  const Prepared prepared = overlap_probe(device, lenet, "tf32", 640, kMiB).prepare();
  Series series;
  series.seconds = {prepared.timed.run()};
  series.runs = {0};
  const std::vector<Sample> alone = prepared.parts(series);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].seconds.at(0) == Approx(one_s + device.idle_start_s / 5).epsilon(0.01));
}

TEST_CASE("vectors that are averaged are more than the cache of each device holds") {
  PlantedDevice device = quiet(8);
  const Prepared prepared = average_of(device, kMiB).prepare();
  for (int i = 0; i < 60; ++i) prepared.timed.run();  // of ten averages or so
  REQUIRE(device.cold_bytes.size() == 8);
  for (const std::int64_t bytes : device.cold_bytes) CHECK(bytes >= 256 * kMiB);
}

TEST_CASE("what a device did not wait for is no sample, and is taken in smaller parts") {
  PlantedDevice device = quiet(2);
  device.launch_s = 1e-6;
  device.most_held = 7;
  const double seconds = settled(average_of(device, 4096).prepare());
  CHECK(seconds == Approx(device.costs.average.of(4096)).epsilon(0.001));
  device.most_held = 0;
  CHECK_THROWS_WITH(average_of(device, 4096).prepare().timed.run(),
                    Contains("did not wait until all of it was handed in"));
}
