// Whole iterations: the same prediction by messages and by max-plus, bounds that nothing may beat, determinism.
#include "sim/point/point.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"

#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

Scenario small_scenario() {
  Scenario s;
  s.name = "test";
  s.cluster = tests::pcie_cluster(8, 8);
  s.model = model::zoo_graph("resnet32_crossbow");
  s.gpus = {8};
  s.baseline_gpus = 8;
  s.batch = {{64, 16}};
  s.compute.launch_s = 5e-6;
  s.compute.compute_efficiency = {{1, 0.5}};
  s.compute.memory_efficiency = 0.8;
  s.compute.jitter = JitterKind::lognormal;
  s.compute.jitter_variation = 0.05;
  s.communication.all_reduce = AllReduceKind::hierarchical;
  s.communication.group_size = 16;
  s.communication.fusion_threshold_bytes = 200'000;
  s.communication.message_overhead_s = 5e-6;
  s.communication.launch_overhead_s = 50e-6;
  s.communication.reduction_rate_bytes_per_s = 6e9;
  s.uncertainty = {0.05, 0.1, 0.2, 0};
  return s;
}

PointResult predict_in_child(const Scenario& s, int gpus, Fidelity fidelity, std::uint64_t seed = 1) {
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = 16;
  request.fidelity = fidelity;
  request.seed = seed;
  request.iterations = 4;
  return predict_points({{&s, request}}, 1)[0];
}

}  // namespace

TEST_CASE("an iteration by max-plus equals the iteration by messages, jitter, fusion and overlap included") {
  for (const AllReduceKind algorithm : {AllReduceKind::ring, AllReduceKind::hierarchical, AllReduceKind::hybrid})
    for (bool overlap : {true, false})
      for (int gpus : {1, 4, 8, 16, 64}) {
        Scenario s = small_scenario();
        s.communication.all_reduce = algorithm;
        s.communication.hybrid_threshold_bytes = 300'000;
        s.communication.overlap = overlap;
        const PointResult fast = predict_in_child(s, gpus, Fidelity::fast);
        const PointResult message = predict_in_child(s, gpus, Fidelity::message);
        INFO(name_of(algorithm) << " on " << gpus << (overlap ? ", overlapped" : ""));
        CHECK(fast.method.text() == "max-plus");
        CHECK(message.method.text() == "messages");
        for (std::size_t i = 0; i < fast.iteration_s.size(); ++i)
          CHECK(fast.iteration_s[i] == Approx(message.iteration_s[i]).epsilon(1e-6));
        CHECK(fast.compute_s == Approx(message.compute_s).epsilon(1e-9));
      }
}

TEST_CASE("the closed form of an iteration is within 10 % of messages") {
  for (int gpus : {1, 8, 16, 64})
    for (double variation : {0.0, 0.05}) {
      Scenario s = small_scenario();
      s.compute.jitter_variation = variation;
      INFO(gpus << " GPUs, jitter " << variation);
      CHECK(predict_in_child(s, gpus, Fidelity::analytic).mean_iteration_s() ==
            Approx(predict_in_child(s, gpus, Fidelity::message).mean_iteration_s()).epsilon(0.1));
    }
}

TEST_CASE("fast falls back to fair flows where links are shared, and says so") {
  Scenario s = small_scenario();
  s.communication.all_reduce = AllReduceKind::halving_doubling;
  const PointResult fast = predict_in_child(s, 16, Fidelity::fast);
  CHECK(fast.fidelity == Fidelity::fast);
  CHECK(fast.method.text() == "fair flows");
  CHECK(fast.mean_iteration_s() == Approx(predict_in_child(s, 16, Fidelity::message).mean_iteration_s()).epsilon(1e-9));
}

TEST_CASE("no iteration beats the computation, nor the bytes over the NIC") {
  for (int gpus : {8, 16, 64}) {
    Scenario s = small_scenario();
    s.compute.jitter = JitterKind::none;
    const PointResult point = predict_in_child(s, gpus, Fidelity::fast);
    CHECK(point.mean_iteration_s() >= model_cost(s, 16).iteration_s());
    CHECK(point.compute_s == Approx(model_cost(s, 16).iteration_s()));
    const int nodes = gpus / 8;
    const double bytes = 4.0 * static_cast<double>(s.model.parameter_count());
    CHECK(point.mean_iteration_s() >= 2.0 * (nodes - 1) / nodes * bytes / 12.5e9);
    CHECK(point.exposed_communication_s >= 0);
  }
}

TEST_CASE("one GPU without jitter takes its computation and nothing else") {
  Scenario s = small_scenario();
  s.compute.jitter = JitterKind::none;
  s.communication.launch_overhead_s = 0;
  const PointResult point = predict_in_child(s, 1, Fidelity::message);
  CHECK(point.mean_iteration_s() == Approx(model_cost(s, 16).iteration_s()).epsilon(1e-9));
}

TEST_CASE("the same seed gives the same numbers, another seed others, in both fidelities") {
  const Scenario s = small_scenario();
  for (Fidelity fidelity : {Fidelity::fast, Fidelity::message}) {
    const PointResult first = predict_in_child(s, 16, fidelity, 7), again = predict_in_child(s, 16, fidelity, 7);
    CHECK(first.iteration_s == again.iteration_s);
    CHECK(first.iteration_s != predict_in_child(s, 16, fidelity, 8).iteration_s);
  }
}

TEST_CASE("jitter costs the barrier about the expected slowest GPU") {
  Scenario s = small_scenario();
  s.communication.launch_overhead_s = 0;
  s.communication.message_overhead_s = 0;
  s.communication.fusion_threshold_bytes = 1 << 30;
  s.compute.jitter_variation = 0.1;
  PointRequest request;
  request.gpus = 64;
  request.batch_per_gpu = 512;
  request.iterations = 60;
  const PointResult jittered = predict_points({{&s, request}}, 1)[0];
  s.compute.jitter = JitterKind::none;
  const PointResult even = predict_points({{&s, request}}, 1)[0];
  const double slowest = expected_slowest(small_scenario(), 64);
  CHECK(slowest > 1.1);
  s.compute.jitter = JitterKind::lognormal;
  CHECK(jittered.mean_iteration_s() / even.mean_iteration_s() == Approx(expected_slowest(s, 64)).epsilon(0.02));
}

TEST_CASE("an input pipeline slower than the GPUs sets the pace, and its wait is reported") {
  Scenario s = small_scenario();
  s.compute.jitter = JitterKind::none;
  s.input.samples_per_s_per_node = 1000;
  for (Fidelity fidelity : {Fidelity::fast, Fidelity::message}) {
    const PointResult point = predict_in_child(s, 8, fidelity);
    CHECK(point.mean_iteration_s() == Approx(16 * 8 / 1000.0).epsilon(0.01));
    CHECK(point.input_wait_s > 0.5 * point.mean_iteration_s());
  }
}

TEST_CASE("bounds enclose the prediction and widen with the uncertainty") {
  Scenario s = small_scenario();
  const PointResult narrow = predict_in_child(s, 64, Fidelity::fast);
  CHECK(narrow.interval.low < 1);
  CHECK(narrow.interval.high > 1);
  s.uncertainty.compute = 0.2;
  s.uncertainty.latency = 0.5;
  const PointResult wide = predict_in_child(s, 64, Fidelity::fast);
  CHECK(wide.interval.low < narrow.interval.low);
  CHECK(wide.interval.high > narrow.interval.high);
}

TEST_CASE("a failing simulation process is an error, not a hang") {
  const Scenario s = small_scenario();
  PointRequest request;
  request.gpus = 1024;  // the cluster has 64
  request.batch_per_gpu = 16;
  CHECK_THROWS(predict_points({{&s, request}}, 1));
}
