// Zhang et al., Poseidon (USENIX ATC 2017): every scenario file runs, with predictions close to the published values.
// One constant was fitted to one single-node time: the rate of copies between GPU and host memory.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/base/statistics.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

Report run_poseidon(const std::string& name, const std::vector<int>& gpus = {}) {
  return predict(load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/poseidon/" + name + ".json",
                               {{"/iterations", "1"}, {"/uncertainty/bandwidth", "0"}}, gpus),
                 2, {});
}

const PointResult& point_at(const Report& report, std::string_view variant, int gpus) {
  const auto found = std::find_if(report.points.begin(), report.points.end(), [&](const ReportPoint& row) {
    return row.variant == variant && row.point.gpus == gpus;
  });
  REQUIRE(found != report.points.end());
  return found->point;
}

// Returns the errors of a variant's predictions, except those used in its fit.
std::vector<double> errors_of(const Report& report, const std::string& variant) {
  std::vector<double> errors;
  for (const Comparison& c : report.comparisons)
    if (c.variant == variant && !c.published.is_fitted) errors.push_back(std::abs(c.error()));
  return errors;
}

std::string scheme_of(const PointResult& point, const std::string& layer) {
  for (const LayerScheme& scheme : point.details.parameter_server->schemes)
    if (scheme.layer == layer) return scheme.scheme;
  return "";
}

}  // namespace

TEST_CASE("Poseidon: VGG19-22K from 1 to 32 nodes") {
  const Report report = run_poseidon("vgg19_22k");
  CHECK(errors_of(report, "sequential PS").size() == 5);
  CHECK(quantile(errors_of(report, "sequential PS"), 0.5) < 0.15);
  CHECK(quantile(errors_of(report, "Poseidon"), 0.5) < 0.05);
  // Sufficient factors for all three fully-connected layers, and little left to wait for.
  const PointResult& poseidon = point_at(report, "Poseidon", 32);
  for (const char* layer : {"fc6", "fc7", "fc8"}) CHECK(scheme_of(poseidon, layer) == "sufficient factors");
  CHECK(poseidon.exposed_communication_s < 0.01);
  // Pairs spread the load that tensors leave on one server.
  CHECK(point_at(report, "sequential PS, 2 MB pairs", 32).mean_iteration_s() <
        0.5 * point_at(report, "sequential PS", 32).mean_iteration_s());
  CHECK(point_at(report, "wait-free PS", 32).mean_iteration_s() <
        point_at(report, "sequential PS, 2 MB pairs", 32).mean_iteration_s());
  // A known miss: the paper has 21.5 times one node. Once it is met, scenarios/published/README.md must say so.
  REQUIRE(errors_of(report, "wait-free PS").size() == 1);
  CHECK(errors_of(report, "wait-free PS").front() > 0.4);
}

TEST_CASE("Poseidon: GoogLeNet goes by parameter server, VGG19 by sufficient factors") {
  const Report report = run_poseidon("caffe_40gbe", {1, 16});
  for (const Comparison& c : report.comparisons) CHECK(std::abs(c.error()) < 0.15);
  const PointResult& googlenet = point_at(report, "GoogLeNet, Poseidon", 16);
  REQUIRE(googlenet.details.parameter_server->schemes.size() == 5);
  for (const LayerScheme& scheme : googlenet.details.parameter_server->schemes)
    CHECK(scheme.scheme == "parameter server");
  CHECK(scheme_of(point_at(report, "VGG19, Poseidon", 16), "fc6") == "sufficient factors");
  CHECK(googlenet.samples_per_s() > 15.5 * 257);
}

TEST_CASE("Poseidon: with 10 Gbit/s a parameter server no longer scales, hybrid communication does") {
  const Report report = run_poseidon("limited_bandwidth");
  CHECK(errors_of(report, "VGG19, PS").front() < 0.25);
  CHECK(errors_of(report, "VGG19-22K, PS").front() < 0.25);
  // Twice the capacity contradicts the measurements.
  CHECK(errors_of(report, "VGG19, PS, full duplex").front() > 0.25);
  CHECK(errors_of(report, "VGG19-22K, PS, full duplex").front() > 0.25);
  for (const char* model : {"VGG19", "VGG19-22K"})
    CHECK(point_at(report, std::string(model) + ", Poseidon", 16).samples_per_s() >
          1.8 * point_at(report, std::string(model) + ", PS", 16).samples_per_s());
}

TEST_CASE("Poseidon: a tensor per shard and Adam leave the load on one node, 1 bit on none") {
  const Report tensorflow = run_poseidon("tensorflow_40gbe", {8});
  CHECK(point_at(tensorflow, "VGG19-22K, TensorFlow", 8).mean_iteration_s() >
        2 * point_at(tensorflow, "VGG19-22K, Poseidon", 8).mean_iteration_s());

  const Report report = run_poseidon("vgg19_adam_1bit", {8});
  const GpuTraffic adam = point_at(report, "Adam", 8).details.parameter_server->busiest_gpu;
  const GpuTraffic poseidon = point_at(report, "Poseidon", 8).details.parameter_server->busiest_gpu;
  // fc6's owner sends 7 x 411 MB and receives 7 x 3.7 MB of factors, plus its share of the rest.
  CHECK(double(adam.bytes_sent) > 10 * double(adam.bytes_received));
  CHECK(double(adam.bytes_sent) == Approx(7 * 411.1e6).epsilon(0.06));
  CHECK(poseidon.bytes_sent == poseidon.bytes_received);
  CHECK(point_at(report, "Adam", 8).mean_iteration_s() > point_at(report, "Poseidon", 8).mean_iteration_s());
  CHECK(point_at(report, "CNTK 1-bit", 8).bytes_sent_per_gpu < 0.05 * 2 * 574.7e6);
  CHECK(point_at(report, "CNTK 1-bit", 8).compute_s > 32 / 35.5);  // quantising takes its time
  // Missed: 5.8 times one node are published.
  CHECK(8 * 32 / 35.5 / point_at(report, "CNTK 1-bit", 8).mean_iteration_s() == Approx(7.73).epsilon(0.01));
  // The rate of adding was fitted on that; what 16 and 32 nodes make of it was not.
  CHECK(8 * 32 / 35.5 / point_at(report, "CNTK 1-bit, adding fitted", 8).mean_iteration_s() ==
        Approx(5.8).epsilon(0.01));
}

TEST_CASE("Poseidon: four GPUs of one node with a leader scale linearly, a tree after the backward pass does not") {
  const Report report = run_poseidon("googlenet_4gpu", {4});
  for (const ReportPoint& row : report.points) {
    if (row.variant == "Poseidon") CHECK(row.scaling_efficiency > 0.98);
    if (row.variant == "Caffe") CHECK(row.scaling_efficiency == Approx(0.75).epsilon(0.15));
    if (row.variant == "Caffe, direct copies") CHECK(row.scaling_efficiency < 0.96);
  }
}

TEST_CASE("Poseidon: nodes of eight GPUs scale linearly, their leader alone uses the network") {
  const Report report = run_poseidon("googlenet_p2_8xlarge", {8, 32});
  for (const Comparison& c : report.comparisons) CHECK(std::abs(c.error()) < 0.05);
  const PointResult& overlapped = point_at(report, "Poseidon", 32);
  const PointResult& after = point_at(report, "after the backward pass", 32);
  CHECK(overlapped.mean_iteration_s() < 0.9 * after.mean_iteration_s());
  // 53.5 MB of gradients: the leader adds those of its 7 others, sends 3/4 of the sum to the 3 other servers and serves
  // a fourth; parameters go the same ways back.
  const GpuTraffic busiest = overlapped.details.parameter_server->busiest_gpu;
  CHECK(double(busiest.bytes_sent) == Approx((7 + 2 * 0.75) * 53.5e6).epsilon(0.02));
  CHECK(busiest.bytes_received == busiest.bytes_sent);
}

TEST_CASE("Poseidon: TensorFlow's remote procedure calls hold up what one server holds") {
  // The paper: 32 machines can be slower than one on VGG19-22K; at 8 the gradient of fc6, 411 MB, from and to 7 others
  // at 0.57 GB/s is 10 s a step already.
  const Report report = run_poseidon("tensorflow_40gbe", {8});
  CHECK(point_at(report, "VGG19-22K, TensorFlow", 8).samples_per_s() < 34.8);
  CHECK(point_at(report, "Inception-V3, TensorFlow", 8).samples_per_s() > 4 * 43.2);
}

TEST_CASE("Poseidon: two constants were fitted, one for CNTK alone, and the results they were fitted on are marked") {
  int marked = 0;
  for (const char* name : {"vgg19_22k", "caffe_40gbe", "limited_bandwidth", "tensorflow_40gbe", "vgg19_adam_1bit"}) {
    const LoadedScenario loaded =
        load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/poseidon/" + std::string(name) + ".json", {});
    for (const Assumption& a : loaded.assumptions)
      if (a.kind == "fitted" && name != std::string("vgg19_adam_1bit"))
        CHECK(a.pointer == "/parameter_server/staging/bandwidth");
    for (const Scenario& s : loaded.variants)
      marked += static_cast<int>(
          std::count_if(s.published.begin(), s.published.end(), [](const PublishedSpec& p) { return p.is_fitted; }));
  }
  CHECK(marked == 2);
}
