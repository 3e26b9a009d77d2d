// How long a calibration is expected to take, from nothing and from what a log has.
#include "calib/probe/expectation.hpp"

#include "calib/probe/calibrate.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/planted_device.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::vector<Probe> copies(int count) {
  std::vector<Probe> probes;
  for (int i = 0; i < count; ++i) probes.push_back({"copy", {{"from", "host"}, {"bytes", 64 << i}}, {}});
  return probes;
}

Sample taken(const Probe& probe, int samples, double seconds, const std::vector<std::string>& flags = {}) {
  Sample sample;
  sample.probe = probe.probe;
  sample.key = probe.key;
  sample.seconds.assign(static_cast<std::size_t>(samples), seconds);
  sample.flags = flags;
  return sample;
}

// The least is 0.0478 + 11 x 0.0002 = 0.05 s, the most is 5 s, and their geometric mean is 0.5 s.
SamplingOptions half_second() {
  SamplingOptions options;
  options.warm_up_s = 0.0478;
  return options;
}

}  // namespace

TEST_CASE("nothing measured: between the least number of the shortest samples and the time limit") {
  std::vector<Probe> probes = copies(3);
  probes.push_back({"launch", {{"how", "stream"}, {"kernels", 1}}, {}});
  const Expectation e = expectation_of(probes, {}, half_second());
  REQUIRE(e.groups.size() == 2);
  CHECK(e.groups[0].probe == "copy");
  CHECK(e.groups[0].series == 3);
  CHECK(e.groups[0].done == 0);
  CHECK(e.groups[0].least_s == Approx(0.15));
  CHECK(e.groups[0].expected_s == Approx(1.5));
  CHECK(e.groups[0].most_s == Approx(30));  // each twice
  CHECK(e.all.series == 4);
  CHECK(e.all.expected_s == Approx(2));
  SamplingOptions once = half_second();
  once.has_second_look = false;
  CHECK(expectation_of(probes, {}, once).all.most_s == Approx(20));
  // A time limit shorter than the least number of samples is the most and the least.
  once.time_limit_s = 0.01;
  CHECK(expectation_of(probes, {}, once).all.least_s == Approx(0.04));
  CHECK(expectation_of(probes, {}, once).all.expected_s == Approx(0.04));
}

TEST_CASE("what a log has tells how long the rest takes, and how much of it twice") {
  const std::vector<Probe> probes = copies(8);
  // 0.0478 + 10 x 0.05522 = 0.6 s, of which one wants a second look and one had it: half of them, twice.
  const std::vector<Sample> log{taken(probes[0], 10, 0.05522), taken(probes[1], 10, 0.05522, {"outliers"}),
                                taken(probes[2], 10, 0.05522, {"revisited"}), taken(probes[3], 10, 0.05522)};
  const Expectation e = expectation_of(probes, log, half_second());
  REQUIRE(e.groups.size() == 1);
  CHECK(e.groups[0].done == 4);
  CHECK(e.groups[0].again == 1);
  CHECK(e.groups[0].each_s == Approx(0.6));
  CHECK(e.groups[0].expected_s == Approx((4 * 1.5 + 1) * 0.6));
  CHECK(e.groups[0].least_s == Approx(5 * 0.05));
  CHECK(e.groups[0].most_s == Approx((2 * 4 + 1) * 5));
  const std::string text = expectation_text(e, half_second());
  CHECK(text.find("copy             8      4      1      5     4.20 s     250 ms     45.0 s\n") != std::string::npos);
  // The text explains the bounds.
  CHECK(text.find("  warm-up and samples, without setting up\n  probe ") != std::string::npos);
  CHECK(text.find("Setting up each series (memory, images, plans of convolutions) comes on top") != std::string::npos);
  // All done: nothing is left.
  std::vector<Sample> all;
  for (const Probe& probe : probes) all.push_back(taken(probe, 11, 1e-3));
  CHECK(expectation_of(probes, all, half_second()).all.expected_s == 0);
  CHECK(expectation_of(probes, all, half_second()).all.most_s == 0);
  // Samples of the log that belong to no probe have no influence.
  CHECK(expectation_of(copies(2), all, half_second()).all.done == 2);
}

TEST_CASE("while it goes on, a probe's series are expected to take what those measured took") {
  std::vector<Probe> probes = copies(3);
  probes.push_back({"launch", {{"how", "stream"}, {"kernels", 1}}, {}});
  TimeLeft left(expectation_of(probes, {}, half_second()));
  CHECK(left.seconds() == Approx(2));
  left.took("copy", 2);
  CHECK(left.seconds() == Approx(2 * 2 + 0.5));
  left.took("copy", 4);
  CHECK(left.seconds() == Approx(3 + 0.5));
  left.took("copy", 3);
  left.took("launch", 0.1);
  CHECK(left.seconds() == Approx(0));
  left.expect_again({&probes[0], &probes[3]});
  CHECK(left.seconds() == Approx(3 + 0.1));
}

TEST_CASE("a GPU's plan has the learners that share it unless it is told, and says how many series that makes") {
  tests::PlantedDevice host(1, {}), gpu(1, {});
  gpu.kind = "cuda";
  CHECK(usual_learners(host) == std::vector<int>{1});
  CHECK(usual_learners(gpu) == std::vector<int>{1, 2, 4, 8});
  ProbeOptions options;
  options.models = {model::zoo_graph("lenet")};
  options.has_layers = false;
  const auto iterations = [&](const std::vector<int>& learners) {
    options.learners = learners;
    const Expectation e = expectation_of(plan_probes(gpu, options), {}, half_second());
    for (const ExpectedGroup& group : e.groups)
      if (group.probe == "iteration") return group;
    return ExpectedGroup();
  };
  // There are 7 batches for each number of learners, and 7 with an input pipeline for one learner.
  CHECK(iterations({1}).series == 14);
  CHECK(iterations(usual_learners(gpu)).series == 35);
  CHECK(iterations(usual_learners(gpu)).expected_s == Approx(35 * 0.5));
}

TEST_CASE("a calibration of the planted device lasts between the least and the most expected") {
  TemporaryFolder folder;
  tests::PlantedDevice device(2, {});
  ProbeOptions options;
  options.models = {model::zoo_graph("lenet")};
  options.batches = {4};
  options.has_input = options.has_layers = false;
  options.most_bytes = 1024;
  SamplingOptions sampling;
  const std::vector<Probe> probes = plan_probes(device, options);
  const Expectation e = expectation_of(probes, {}, sampling);
  SampleLog log(folder.path("samples.jsonl"));
  const double began_s = device.now_s();
  measure(
      device, probes, sampling, &log, [](const Progress&) {},
      [](const std::string& probe, const std::string& why) { FAIL(probe << ": " << why); });
  const double took_s = device.now_s() - began_s;
  CHECK(took_s > e.all.least_s);
  CHECK(took_s < e.all.most_s);
  CHECK(expectation_of(probes, log.samples(), sampling).all.most_s == 0);
}
