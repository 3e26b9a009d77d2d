// Asynchronous workers, estimates from given results, and choices: laws first, then hand-worked cases.
#include <cmath>

#include "sim/validation/predict.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

sim::Prediction prediction_of(const std::string& json) {
  const auto records = records_from(json);
  auto predictions = predict(records);
  REQUIRE(predictions.size() == 1);
  return predictions[0];
}

sim::Prediction mapped(const std::string& json) {
  const sim::Prediction p = prediction_of(json);
  INFO(p.task.unmapped);
  REQUIRE(p.is_mapped());
  CHECK(p.low <= p.predicted);
  CHECK(p.predicted <= p.high);
  CHECK(!p.task.interval_class.is_calibrated());  // no fitted constant affects it
  return p;
}

std::string why_not_workers(const std::string& json) {
  return prediction_of(json).task.unmapped;
}

std::string staleness(const std::string& keys, int workers, const std::string& algorithm = "async-sgd") {
  return R"([{"id": "a", "metric": "staleness", "software": "other", "model": "inception_v3", "gpu": "K40", "gpus": )" +
         std::to_string(workers) + R"(, "batch_per_gpu": 32, "precision": "fp32", "network": "InfiniBand EDR",
    "algorithm": ")" +
         algorithm + "\", " + keys + "}]";
}

std::string layer(int number, const std::string& statistic = "mean") {
  return R"("layer": )" + std::to_string(number) + R"(, "statistic": ")" + statistic + "\"";
}

// Makes results of one experiment, (gpus, value) each, and a target at `gpus`.
std::string iterations(const std::vector<std::pair<int, double>>& given, int gpus) {
  std::string json = "[";
  for (const auto& [n, value] : given)
    json += R"({"id": "given)" + std::to_string(n) + R"(", "role": "input", "group": "g", "gpus": )" +
            std::to_string(n) + R"(, "metric": "iterations_to_converge", "value": )" + std::to_string(value) + "}, ";
  return json + R"({"id": "a", "role": "target", "group": "g", "metric": "iterations_to_converge", "gpus": )" +
         std::to_string(gpus) + "}]";
}

std::string arrivals(const std::string& wanted, const std::string& unit) {
  // A median of 1 s and exp(0.1) s at the normal's 84.134 % make a lognormal of sigma 0.1.
  return R"([{"id": "p50", "role": "input", "group": "g", "metric": "arrival", "arrival": {"at": 0.5}, "value": 1},
    {"id": "p84", "role": "input", "group": "g", "metric": "arrival", "arrival": {"at": 0.84134}, "value": 1.105171},
    {"id": "a", "role": "target", "group": "g", "metric": "arrival", "arrival": )" +
         wanted + R"(, "unit": ")" + unit + "\"}]";
}

std::string servers(const std::string& metric, const std::string& model, const std::string& unit) {
  return R"([{"id": "one", "role": "input", "group": "g", "metric": "iteration_s", "value": 0.25, "gpus": 1,
    "software": "poseidon", "model": ")" +
         model + R"(", "gpu": "GTX TITAN X", "batch_per_gpu": 64, "precision": "fp32"},
    {"id": "a", "role": "target", "group": "g", "model": ")" +
         model + R"(", "gpu": "GTX TITAN X", "gpus": 8, "gpus_per_node": 1, "network": "40 GbE", "batch_per_gpu": 64,
     "precision": "fp32", "software": "poseidon", "algorithm": "parameter-server", "metric": ")" +
         metric + R"(", "unit": ")" + unit + "\"}]";
}

std::string gain(const std::string& keys) {
  return R"([{"id": "a", "metric": "throughput_gain_tau", "software": "crossbow", "model": "resnet50",
    "gpu": "GTX TITAN X", "gpus": 8, "gpus_per_node": 8, "link": "pcie", "batch_per_gpu": 16, "precision": "fp32", )" +
         keys + "}]";
}

}  // namespace

TEST_CASE("the bottom layer misses an update of every other worker, layers above it fewer") {
  // Read at the beginning of a step and sent at its end: in between every other worker ends one step.
  CHECK(mapped(staleness(layer(0), 12)).predicted == Approx(11).epsilon(0.02));
  CHECK(mapped(staleness(layer(0), 24)).predicted == Approx(23).epsilon(0.02));
  double before = 12;
  for (int number : {0, 4, 11, 18}) {
    const double now = mapped(staleness(layer(number), 12)).predicted;
    CHECK(now < before);
    before = now;
  }
  // Forward alone is between a fifth and a half of a step.
  CHECK(before > 11 * 0.2);
  CHECK(before < 11 * 0.5);
}

TEST_CASE("statistics of staleness are in order") {
  const auto of = [](const char* statistic) { return mapped(staleness(layer(11, statistic), 12)).predicted; };
  const double mean = of("mean"), deviation = of("sd");
  CHECK(of("min") < mean);
  CHECK(of("max") > mean);
  CHECK(of("median") == Approx(mean).margin(1));
  CHECK(deviation > 0);
  CHECK(deviation < mean);
  CHECK(of("max") == Approx(mean + 4.26 * deviation));
}

TEST_CASE("staleness that nobody says enough of is not mapped") {
  CHECK(why_not_workers(staleness(R"("statistic": "mean")", 12)) == "staleness: the layer is not stated");
  CHECK(why_not_workers(staleness(layer(19), 12)) == "layer 19: this Inception has layers 0 to 18");
  CHECK(why_not_workers(staleness(R"("layer": 0)", 12)).find("which statistic is not said") != std::string::npos);
  CHECK(why_not_workers(staleness(layer(0), 12, "s-sgd")) == "staleness of an algorithm that is not asynchronous");
  CHECK(why_not_workers(staleness(layer(0), 1)) == "gpus: one worker alone has no stale gradients");
  CHECK(why_not_workers(staleness(layer(0), 60000)).find("more than 512") != std::string::npos);
}

TEST_CASE("iterations follow S_min (1 + N_crit / N) through given points") {
  // 50,000 (1 + 100 / N): 150,000 at 50, 75,000 at 200; 100,000 at 100.
  const sim::Prediction between = mapped(iterations({{50, 150000}, {200, 75000}}, 100));
  CHECK(between.predicted == Approx(100000));
  const sim::Prediction beyond = mapped(iterations({{50, 150000}, {200, 75000}}, 400));
  CHECK(beyond.predicted == Approx(62500));
  CHECK((beyond.high - beyond.low) / beyond.predicted > (between.high - between.low) / between.predicted);
  // One point: between no gain from workers and all of it, 100,000 to 50,000.
  const sim::Prediction one = mapped(iterations({{50, 100000}}, 100));
  CHECK(one.low == Approx(50000));
  CHECK(one.high == Approx(100000));
  CHECK(mapped(iterations({{50, 100000}}, 50)).predicted == Approx(100000));
  // Growing with workers is outside of the law: a power, 100 N^0.5.
  CHECK(mapped(iterations({{25, 500}, {100, 1000}}, 400)).predicted == Approx(2000));
  CHECK(why_not_workers(iterations({}, 100)).find("iterations to converge: no input") == 0);
}

TEST_CASE("the critical batch is where epochs have doubled") {
  // 10 (1 + B / 1000): 11 at 100, 20 at 1000.
  const auto epochs = [](const std::string& second) {
    return R"([{"id": "1", "role": "input", "group": "g", "metric": "epochs_to_accuracy", "value": 11, "global_batch": 100},
      {"id": "2", "role": "input", "group": "g", "metric": "epochs_to_accuracy", "value": )" +
           second +
           R"(, "global_batch": 1000}, {"id": "a", "role": "target", "group": "g", "metric": "critical_batch"}])";
  };
  CHECK(mapped(epochs("20")).predicted == Approx(1000));
  CHECK(why_not_workers(epochs("10")).find("do not grow with the batch") != std::string::npos);
  CHECK(why_not_workers(R"([{"id": "a", "group": "g", "metric": "critical_batch"}])").find("no inputs") !=
        std::string::npos);
}

TEST_CASE("arrival times follow the distribution through those given") {
  CHECK(mapped(arrivals(R"({"before_s": 1.105171})", "")).predicted == Approx(0.84134).margin(0.002));
  // Both of two independent ones: 0.84134 squared.
  CHECK(mapped(arrivals(R"({"before_s": 1.105171, "order": [2, 2]})", "")).predicted == Approx(0.70785).margin(0.003));
  // z = 1.2816: exp(0.12816).
  const double ninety = mapped(arrivals(R"({"at": 0.9})", "s")).predicted;
  CHECK(ninety == Approx(1.1367).epsilon(0.002));
  CHECK(mapped(arrivals(R"({"at": 0.9999, "longest": true})", "s")).predicted > ninety);
  CHECK(why_not_workers(R"([{"id": "a", "group": "g", "metric": "arrival", "arrival": {"at": 0.99}}])")
            .find("fewer than two") != std::string::npos);
}

TEST_CASE("a node's traffic is what passes it over the iteration") {
  const double floats = mapped(servers("node_traffic_floats_per_s", "VGG-16", "")).predicted;
  // 138,357,544 parameters out, in, in and out again, but for the node's own eighth, in 0.25 s.
  CHECK(floats == Approx(4 * 138357544.0 * 7 / 8 / 0.25).epsilon(1e-3));
  CHECK(mapped(servers("required_bandwidth", "VGG-16", "bit/s")).predicted == Approx(32 * floats));
  CHECK(mapped(servers("required_bandwidth", "VGG-16", "Gbit/s")).predicted == Approx(32e-9 * floats));
  CHECK(mapped(servers("required_bandwidth", "VGG-16", "GB/s")).predicted == Approx(4e-9 * floats));
  CHECK(why_not_workers(servers("required_bandwidth", "VGG-16", "parsec")).find("unit \"parsec\"") == 0);
}

TEST_CASE("more parameters in the same time need more bandwidth to scale") {
  const double large = mapped(servers("bandwidth_for_linear", "VGG-16", "bit/s")).predicted;
  const double small = mapped(servers("bandwidth_for_linear", "ResNet-50", "bit/s")).predicted;
  CHECK(large > 2 * small);  // 138 million to 26 million
  // Hidden behind computation or not, the bytes must pass within an iteration that is 5 % longer.
  CHECK(large > mapped(servers("required_bandwidth", "VGG-16", "bit/s")).predicted / 1.06);
}

TEST_CASE("the best group is a power of two that the record's GPUs hold") {
  const auto best = [](const std::string& algorithm, int gpus) {
    return R"([{"id": "a", "metric": "best_group_size", "software": "jizhi", "model": "resnet50",
      "gpu": "Tesla P40", "gpus_per_node": 8, "link": "pcie", "network": "100 GbE RoCE", "algorithm": ")" +
           algorithm + R"(", "gpus": )" + std::to_string(gpus) + "}]";
  };
  const double group = mapped(best("hierarchical", 64)).predicted;
  CHECK(std::exp2(std::round(std::log2(group))) == group);
  CHECK(group >= 2);
  CHECK(group <= 32);
  CHECK(why_not_workers(best("ring", 64)) == "algorithm \"ring\" has no groups");
}

TEST_CASE("learners that synchronise less often train faster") {
  const std::string sma = R"("algorithm": "sma", "tau": )";
  const double always = mapped(gain(sma + "1")).predicted, rarely = mapped(gain(sma + "8")).predicted;
  CHECK(always == Approx(0).margin(1e-9));
  CHECK(rarely > mapped(gain(sma + "2")).predicted);
  CHECK(why_not_workers(gain(R"("algorithm": "ring")")) == "algorithm \"ring\" has no period of synchronisation");
}

}  // namespace lockstep::tests
