// The whole flow (probes, sampler, sample log, fits, profile) on a device with declared costs. Results must equal the
// declared costs within 1 %, although samples are noisy, some take five times as long, one series drifts and one is
// throttled.
#include "calib/overlap.hpp"
#include "calib/probe/calibrate.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/planted_device.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
using tests::Cost;
using tests::PlantedCosts;
using tests::PlantedDevice;

namespace {

// The replicas of the plan in order: 2 devices x {iteration of batch 4, 16, 64}, then one for each pass.
constexpr int kReplicaOfBatch4 = 0, kReplicaOfBatch16 = 2, kReplicaOfBatch64 = 4;

Cost copy_cost(const PlantedCosts& c, const Json& key) {
  const std::string from = key["from"], to = key["to"];
  const bool is_far = key.value("link", "") == "SYS";
  if (to == "all") return c.pinned_to_all;
  if (key["both_ways"] == true)
    return from == "host" ? c.both_ways_host : is_far ? c.both_ways_far_peer : c.both_ways_peer;
  if (key.contains("memory")) return from == "host" ? c.pinned_to_device : c.pinned_to_host;
  if (from == "host") return c.to_device;
  if (to == "host") return c.to_host;
  return from == to ? c.within : is_far ? c.to_far_peer : c.to_peer;
}

double collective_s(const PlantedCosts& c, const std::string& operation, double bytes) {
  if (operation == "all-reduce") return c.sum_s(bytes);
  if (operation == "average") return c.average.of(bytes);
  for (const auto& [collective, cost] : c.exchange)
    if (to_string(collective) == operation) return cost.of(bytes);
  FAIL("no such collective " << operation);
  return 0;
}

double update_s(const PlantedCosts& c, const std::string& kernel, double elements) {
  if (kernel == "momentum") return c.momentum.of(elements);
  if (kernel == "lars") return c.lars.of(elements);
  if (kernel == "sma-correction") return c.correction.of(elements);
  return c.average_model.of(elements);
}

double layer_s(const PlantedCosts& c, const model::Graph& graph, const Json& key, double batch) {
  const std::string pass = key["pass"];
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (key["layer"] != graph.layers[i].name) continue;
    if (pass == "update") return c.momentum.of(double(graph.layers[i].parameter_count()));
    return c.layer(static_cast<int>(i), pass == "forward" ? device::LayerPart::forward : device::LayerPart::backward)
        .of(batch);
  }
  FAIL("no such layer");
  return 0;
}

double pass_s(const PlantedCosts& c, const model::Graph& graph, double batch) {
  double sum = 0;
  for (int i = 1; i < static_cast<int>(graph.layers.size()); ++i)
    for (const device::LayerPart part : {device::LayerPart::forward, device::LayerPart::backward})
      sum += c.layer(i, part).of(batch);
  return sum;
}

// What waiting costs is lost in several iterations.
double overlap_s(const PlantedCosts& c, const model::Graph& graph, const Fit& fit, double bytes) {
  const double batch = fit.key["batch"];
  const double alone_s = 2 * (c.gradient.of(batch) + c.momentum.of(double(graph.parameter_count())));
  return fit.key["beside"] == "nothing" ? alone_s : alone_s * c.slowdown.of(bytes);
}

// Two devices after each other: the planted clock is one.
double truth_s(const PlantedCosts& c, const model::Graph& graph, const Fit& fit, double x) {
  if (fit.probe == "launch") return fit.key["how"] == "graph" ? c.graph.of(x) : x * c.launch.latency_s;
  if (fit.probe == "overlap") return overlap_s(c, graph, fit, x);
  if (fit.probe == "copy") return copy_cost(c, fit.key).of(x);
  if (fit.probe == "collective") return collective_s(c, fit.key["operation"], x);
  if (fit.probe == "update") return update_s(c, fit.key["kernel"], x);
  if (fit.probe == "layer") return layer_s(c, graph, fit.key, x);
  if (fit.probe == "pass") return pass_s(c, graph, x);
  return 2 * (c.gradient.of(x) + c.momentum.of(double(graph.parameter_count())));
}

ProbeOptions lenet_options() {
  ProbeOptions options;
  options.models = {model::zoo_graph("lenet")};
  options.batches = {4, 16, 64};
  options.has_input = false;  // work of the host, not of the device
  return options;
}

Profile measured(PlantedDevice& device, const std::string& log_path, const std::vector<Probe>& probes) {
  SamplingOptions sampling;
  sampling.tolerance = 0.003;
  SampleLog log(log_path);
  measure(
      device, probes, sampling, &log, [](const Progress&) {},
      [](const std::string& probe, const std::string& why) { FAIL(probe << ": " << why); });
  return profile_of(log, "planted", device, Json::object(), Json::object());
}

Profile calibrate(PlantedDevice& device, const std::string& log_path, const ProbeOptions& options = lenet_options()) {
  return measured(device, log_path, plan_probes(device, options));
}

// Nothing else.
Profile iterations(PlantedDevice& device, const std::string& log_path) {
  std::vector<Probe> probes;
  for (int batch : lenet_options().batches)
    probes.push_back(iteration_probe(device, model::zoo_graph("lenet"), "fp32", 1, batch));
  return measured(device, log_path, probes);
}

Sample iteration_of(const Profile& profile, int batch) {
  for (const Sample& sample : profile.samples)
    if (sample.probe == "iteration" && sample.key["batch"] == batch) return sample;
  FAIL("no such iteration");
  return {};
}

std::vector<std::string> flags_of(const Profile& profile, int batch) {
  return iteration_of(profile, batch).flags;
}

std::vector<std::string> set_aside_of(const Profile& profile, int batch) {
  std::vector<std::string> why;
  for (const SetAside& other : iteration_of(profile, batch).set_aside) why.push_back(other.why);
  return why;
}

}  // namespace

TEST_CASE("planted costs come back within 1 %, through noise, outliers, drift and throttle, which are reported") {
  const model::Graph graph = model::zoo_graph("lenet");
  TemporaryFolder folder;
  tests::Disturbances disturbances;
  disturbances.outlier_every = 37;
  disturbances.drifting_replica = kReplicaOfBatch16;
  disturbances.throttled_replica = kReplicaOfBatch64;
  PlantedDevice device(2, disturbances);
  const Profile profile = calibrate(device, folder.path("samples.jsonl"));

  std::map<std::string, int> fits;
  for (const Fit& fit : profile.fits) {
    ++fits[fit.probe];
    const std::vector<Measured> points = profile.curve(fit.probe, fit.key);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double x = points[i].x, truth = truth_s(device.costs, graph, fit, x);
      INFO(fit.probe << " " << fit.key.dump() << " at " << x);
      CHECK(fit.line.at(x) == Approx(truth).epsilon(0.01));
      if (i == 0 || fit.probe == "collective") continue;  // between two protocols a collective may be either
      const double between = std::sqrt(x * points[i - 1].x);
      CHECK(fit.line.at(between) == Approx(truth_s(device.costs, graph, fit, between)).epsilon(0.01));
    }
  }
  CHECK(fits["iteration"] == 1);
  CHECK(fits["copy"] == 9);  // to all devices at once among them
  CHECK(fits["launch"] == 2);
  CHECK(fits["overlap"] == 4);
  CHECK(fits["collective"] == 13);  // three of them in fp16 and bf16 as well
  CHECK(fits["update"] == 4);
  CHECK(fits["layer"] > 20);

  // The constants themselves.
  const Fit* up = profile.find("copy", {{"from", "host"}, {"to", "gpu0"}, {"both_ways", false}});
  REQUIRE(up != nullptr);
  REQUIRE(up->line.pieces.size() == 1);
  CHECK(up->line.pieces[0].line.latency_s == Approx(8e-6).epsilon(0.01));
  CHECK(1 / up->line.pieces[0].line.seconds_per_unit == Approx(25e9).epsilon(0.01));

  // 1.15 + 2 bytes / 1e9: 1.1505, 1.158, 1.284.
  const std::vector<Slowdown> ratios = slowdowns(profile);
  REQUIRE(ratios.size() == 6);  // at batch 4 and at 64
  for (const Slowdown& one : ratios) CHECK(one.ratio == Approx(device.costs.slowdown.of(one.bytes)).epsilon(0.01));
  for (const std::size_t i : {2, 5}) {
    CHECK(ratios[i].bytes == 67108864);
    CHECK(ratios[i].batch == (i == 2 ? 4 : 64));
    CHECK(ratios[i].devices == 2);
  }
  CHECK(report_text(profile).find("lenet_crossbow fp32, batch 64, 2 devices: an iteration beside all-reduces (host) of "
                                  "67.1 MB takes 1.28") != std::string::npos);

  // The drifting series was taken again, the throttled samples are not among those kept; the others are clean.
  CHECK(flags_of(profile, 4).empty());
  CHECK(flags_of(profile, 16) == std::vector<std::string>{"remeasured"});
  CHECK(flags_of(profile, 64) == std::vector<std::string>{"throttled"});
  const std::string text = report_text(profile);
  CHECK(text.find("remeasured 1") != std::string::npos);
  CHECK(text.find("throttled 1") != std::string::npos);

  // What was written reads back as what was fitted.
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "planted.json");
  const Profile again = profile_from_json(document.root());
  CHECK(again.fits.size() == profile.fits.size());
  CHECK(to_json(again).dump() == to_json(profile).dump());
}

TEST_CASE(
    "what was disturbed for as long as it was measured is measured again after the others, and all of it is kept") {
  const model::Graph graph = model::zoo_graph("lenet");
  TemporaryFolder folder;
  tests::Disturbances disturbances;
  disturbances.interrupted_replica = kReplicaOfBatch4;
  disturbances.always_drifting_replica = kReplicaOfBatch16;
  disturbances.always_throttled_replica = kReplicaOfBatch64;
  PlantedDevice device(2, disturbances);
  const Profile profile = iterations(device, folder.path("samples.jsonl"));
  const Fit* fit =
      profile.find("iteration", {{"model", graph.name}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}});
  REQUIRE(fit != nullptr);
  for (int batch : {4, 16, 64}) {
    INFO(batch);
    CHECK(fit->line.at(batch) == Approx(truth_s(device.costs, graph, *fit, batch)).epsilon(0.01));
    CHECK(flags_of(profile, batch) == std::vector<std::string>{"revisited"});
  }
  // The time was up before the one that drifted could be repeated at once.
  for (int batch : {4, 16, 64}) REQUIRE(set_aside_of(profile, batch) == std::vector<std::string>{"first"});
  // Throttled, all of it: twice as long.
  Sample throttled;
  throttled.seconds = iteration_of(profile, 64).set_aside[0].seconds;
  CHECK(throttled.median_s() > 1.9 * truth_s(device.costs, graph, *fit, 64));
  // The log has both as they were taken, and nothing is left to measure.
  int lines = 0;
  const std::string log = read_file(folder.path("samples.jsonl"));
  const std::string begin = R"({"probe":"iteration")";
  for (std::size_t at = log.find(begin); at != std::string::npos; at = log.find(begin, at + 1)) ++lines;
  CHECK(lines == 6);
  CHECK(to_json(iterations(device, folder.path("samples.jsonl"))).dump() == to_json(profile).dump());
  CHECK(read_file(folder.path("samples.jsonl")) == log);
}

TEST_CASE("a run that was killed before it looked again looks again when it is resumed") {
  TemporaryFolder folder;
  tests::Disturbances disturbances;
  disturbances.interrupted_replica = kReplicaOfBatch4;
  PlantedDevice device(2, disturbances);
  const std::string path = folder.path("samples.jsonl");
  const Profile whole = iterations(device, path);
  const std::string log = read_file(path);
  folder.write("samples.jsonl", log.substr(0, log.rfind(R"({"probe":"iteration")")));
  PlantedDevice later(2, {});
  const Profile resumed = iterations(later, path);
  CHECK(flags_of(resumed, 4) == std::vector<std::string>{"revisited"});
  CHECK(iteration_of(resumed, 4).set_aside[0].seconds == iteration_of(whole, 4).set_aside[0].seconds);
}

TEST_CASE("noise that lasts over several samples moves no median by 1 %, for more of them are taken") {
  const model::Graph graph = model::zoo_graph("lenet");
  TemporaryFolder folder;
  tests::Disturbances disturbances;
  disturbances.correlation = 0.9;  // 0.81 from sample to sample: the device waits twice for each
  PlantedDevice device(2, disturbances), independent(2, {});
  const Profile profile = iterations(device, folder.path("a"));
  const Profile other = iterations(independent, folder.path("b"));
  const Fit* fit =
      profile.find("iteration", {{"model", graph.name}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}});
  REQUIRE(fit != nullptr);
  std::size_t samples = 0, independent_samples = 0;
  for (int batch : {4, 16, 64}) {
    CHECK(iteration_of(profile, batch).median_s() == Approx(truth_s(device.costs, graph, *fit, batch)).epsilon(0.01));
    samples += iteration_of(profile, batch).seconds.size();
    independent_samples += iteration_of(other, batch).seconds.size();
  }
  CHECK(samples > 2 * independent_samples);
}

TEST_CASE(
    "by a device's own clock, what the host needs for a launch is in launches, iterations and ordinary copies alone") {
  const model::Graph graph = model::zoo_graph("lenet");
  TemporaryFolder folder;
  PlantedDevice device(2, {});
  device.launch_s = 11e-6;
  ProbeOptions options = lenet_options();
  options.has_layers = false;
  options.most_bytes = 1 << 20;
  const Profile profile = calibrate(device, folder.path("samples.jsonl"), options);
  int by_host = 0;
  for (const Fit& fit : profile.fits) {
    if (fit.probe == "overlap") continue;
    const bool has_host = fit.key.value("from", "") == "host" || fit.key.value("to", "") == "host";
    double launches = 0;
    for (const Measured& point : profile.curve(fit.probe, fit.key)) {
      if (fit.probe == "launch") launches = fit.key["how"] == "graph" ? 1 : point.x;
      if (fit.probe == "iteration") launches = 4;  // a pass and an update for each of two devices
      if (fit.probe == "copy" && has_host && !fit.key.contains("memory")) launches = 1;
      INFO(fit.probe << " " << fit.key.dump() << " at " << point.x);
      CHECK(point.seconds ==
            Approx(truth_s(device.costs, graph, fit, point.x) + launches * device.launch_s).epsilon(0.01));
    }
    by_host += launches > 0;
  }
  CHECK(by_host == 5);
}

TEST_CASE("copies between devices are measured over each kind of link that NVML knows, and named by it") {
  TemporaryFolder folder;
  PlantedDevice device(3, {});
  ProbeOptions options = lenet_options();
  // GPU 0 and 1 have two NVLinks, GPU 2 is on the other socket: as far from 1 as from 0.
  options.pairs = pair_of_each_link(machine_facts({folder.path(""), LOCKSTEP_FAKE_NVML}), device.device_ids());
  const Profile profile =
      measured(device, folder.path("samples.jsonl"), copy_probes(device, std::int64_t{1} << 20, options.pairs));
  int between_devices = 0;
  for (const Fit& fit : profile.fits) {
    between_devices += fit.key["from"] != "host" && fit.key["to"] != "host" && fit.key["from"] != fit.key["to"];
    for (const Measured& point : profile.curve(fit.probe, fit.key)) {
      INFO(fit.key.dump() << " at " << point.x);
      CHECK(fit.line.at(point.x) == Approx(copy_cost(device.costs, fit.key).of(point.x)).epsilon(0.01));
    }
  }
  CHECK(between_devices == 4);
  for (const bool both_ways : {false, true}) {
    CHECK(profile.find("copy", {{"from", "gpu0"}, {"to", "gpu1"}, {"both_ways", both_ways}, {"link", "NV2"}}) !=
          nullptr);
    CHECK(profile.find("copy", {{"from", "gpu0"}, {"to", "gpu2"}, {"both_ways", both_ways}, {"link", "SYS"}}) !=
          nullptr);
  }
  CHECK(report_text(profile).find("link=SYS") != std::string::npos);
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "planted.json");
  CHECK(to_json(profile_from_json(document.root())).dump() == to_json(profile).dump());
}

TEST_CASE("a planted calibration is the same to the last byte when it is done again") {
  TemporaryFolder folder;
  PlantedDevice first(1, {}), second(1, {});
  CHECK(to_json(calibrate(first, folder.path("a"))).dump() == to_json(calibrate(second, folder.path("b"))).dump());
}

TEST_CASE("a resumed calibration measures only what the log lacks") {
  TemporaryFolder folder;
  PlantedDevice device(1, {});
  const Profile whole = calibrate(device, folder.path("a"));
  {
    SampleLog part(folder.path("b"));
    for (std::size_t i = 0; i < whole.samples.size() / 2; ++i) part.append(whole.samples[i]);
  }
  PlantedDevice later(1, {});
  const Profile resumed = calibrate(later, folder.path("b"));
  REQUIRE(resumed.samples.size() == whole.samples.size());
  for (std::size_t i = 0; i < whole.samples.size() / 2; ++i) {
    if (whole.samples[i].probe == "layer") continue;  // parts of a pass that was in flight are taken with it again
    CHECK(resumed.samples[i].seconds == whole.samples[i].seconds);
  }
  CHECK(later.now_s() < 0.9 * device.now_s());
}
