// Reports of points: efficiency relative to the baseline, time to accuracy, published results beside predictions.
#include <algorithm>
#include <map>

#include "sim/point/calibration.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::Comparison;
using sim::predict;
using sim::Report;
using sim::ReportPoint;
using sim::table_text;

double rate_per_gpu(const SmallFiles& files, int gpus, const Settings& settings = {}) {
  const Report report = predict(files.load(settings, {gpus}), 1, {});
  return report.points.at(0).point.samples_per_s() / gpus;
}

SmallFiles with_published(const char* published, bool has_convergence = true) {
  Json scenario = even_scenario();
  scenario["published"] = Json::parse(published);
  if (has_convergence) scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 3200}, {"epochs", 1}};
  return SmallFiles(scenario, even_cluster());
}

}  // namespace

TEST_CASE("an iteration on two nodes is its computation and two transfers of half the gradients") {
  const SmallFiles files(even_scenario(), even_cluster());
  const sim::LoadedScenario loaded = files.load();
  const double gradients_s = 4.0 * static_cast<double>(loaded.variants[0].model.parameter_count()) / 10e9;
  const Report report = predict(loaded, 2, {});
  REQUIRE(report.points.size() == 2);
  const sim::ReportPoint &one = report.points[0], &two = report.points[1];
  CHECK(one.point.mean_iteration_s() == Approx(0.016).epsilon(1e-9));
  CHECK(one.scaling_efficiency == 1);
  CHECK(two.global_batch == 32);
  CHECK(two.point.nodes == 2);
  CHECK(two.point.messages == 4);
  CHECK(two.point.bytes_sent_per_gpu == Approx(gradients_s * 10e9));
  CHECK(two.point.compute_s == Approx(0.016).epsilon(1e-9));
  CHECK(two.point.exposed_communication_s == Approx(gradients_s).epsilon(1e-6));
  CHECK(two.point.samples_per_s() == Approx(32 / (0.016 + gradients_s)).epsilon(1e-9));
  CHECK(two.scaling_efficiency == Approx(0.016 / (0.016 + gradients_s)).epsilon(1e-9));
  CHECK(two.scaling_efficiency < 0.98);
}

TEST_CASE("efficiency is throughput per GPU over the baseline's, which is simulated where it is not asked for") {
  SmallFiles files;
  const Report both = predict(files.load(), 2, {});
  CHECK(both.points[0].scaling_efficiency == 1);
  const double expected = rate_per_gpu(files, 4) / rate_per_gpu(files, 2);
  CHECK(expected < 0.9);
  CHECK(both.points[1].scaling_efficiency == Approx(expected).epsilon(1e-12));

  const Report alone = predict(files.load({}, {4}), 2, {});
  REQUIRE(alone.points.size() == 1);
  CHECK(alone.points[0].point.gpus == 4);
  CHECK(alone.points[0].scaling_efficiency == Approx(expected).epsilon(1e-12));

  const Report against_one = predict(files.load({{"/baseline/gpus", "1"}}, {4}), 2, {});
  CHECK(against_one.points[0].scaling_efficiency ==
        Approx(rate_per_gpu(files, 4) / rate_per_gpu(files, 1)).epsilon(1e-12));
}

TEST_CASE("a point is compared with the baseline at its own batch per GPU") {
  SmallFiles files;
  files.scenario["batch_per_gpu"] = Json::parse(R"([{"up_to_gpus": 2, "batch": 64}, {"up_to_gpus": 4, "batch": 16}])");
  const Report report = predict(files.load(), 2, {});
  REQUIRE(report.points.size() == 2);
  CHECK(report.points[0].global_batch == 128);
  CHECK(report.points[1].global_batch == 64);
  const double at_16 = rate_per_gpu(files, 2, {{"/batch_per_gpu", "16"}});
  const double at_64 = rate_per_gpu(files, 2, {{"/batch_per_gpu", "64"}});
  CHECK(at_64 > 1.2 * at_16);
  CHECK(report.points[1].scaling_efficiency == Approx(rate_per_gpu(files, 4) / at_16).epsilon(1e-12));
}

TEST_CASE("time to accuracy is that of the global batch, and there is none without a target") {
  SmallFiles files(even_scenario(), even_cluster());
  CHECK(!predict(files.load(), 1, {}).points[0].has_accuracy);
  files.scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 1000}, {"epochs", 2}};
  const Report report = predict(files.load(), 1, {});
  const sim::ReportPoint& two = report.points[1];
  REQUIRE(two.has_accuracy);
  CHECK(two.accuracy.iterations == 63);  // 2 x 1000 / 32 = 62.5
  CHECK(two.accuracy.seconds == Approx(63 * two.point.mean_iteration_s()));
  CHECK(report.points[0].accuracy.iterations == 125);
  CHECK(report.points[0].accuracy.seconds == Approx(2));
}

TEST_CASE("bounds: alone a GPU is uncertain by its computation, time to accuracy by the epochs as well") {
  SmallFiles files(even_scenario(), even_cluster());
  files.scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 1600}, {"epochs", 1}};
  files.scenario["uncertainty"] = {{"compute", 0.03}, {"bandwidth", 0.5}, {"latency", 0.5}, {"epochs", 0.04}};
  const Report report = predict(files.load(), 1, {});
  const sim::ReportPoint& one = report.points[0];
  const double reach = sim::reach_of_80_percent();
  CHECK(one.point.interval.low == Approx(1 - reach * 0.03));
  CHECK(one.point.interval.high == Approx(1 + reach * 0.03));
  CHECK(one.accuracy.seconds == Approx(1.6));
  CHECK(one.accuracy.low_s == Approx(1.6 * (1 - reach * 0.05)));
  CHECK(one.accuracy.high_s == Approx(1.6 * (1 + reach * 0.05)));
}

TEST_CASE("a published result stands beside its prediction with its relative error") {
  const SmallFiles files = with_published(R"([
    {"gpus": 1, "metric": "iteration", "value": "20 ms", "source": "a"},
    {"gpus": 1, "metric": "samples_per_s", "value": "800 images/s", "source": "b", "used_for_fit": true},
    {"gpus": 1, "metric": "time_to_accuracy", "value": "4 s", "source": "c"},
    {"gpus": 2, "metric": "scaling_efficiency", "value": 0.5, "source": "d"}])");
  const Report report = predict(files.load(), 1, {});
  REQUIRE(report.comparisons.size() == 4);
  // 16 ms predicted of 20 ms, 1,000 images/s of 800, 200 iterations of 16 ms are 3.2 s of 4 s
  CHECK(report.comparisons[0].predicted == Approx(0.016));
  CHECK(report.comparisons[0].error() == Approx(-0.2));
  CHECK(report.comparisons[1].predicted == Approx(1000));
  CHECK(report.comparisons[1].error() == Approx(0.25));
  CHECK(report.comparisons[1].published.is_fitted);
  CHECK(report.comparisons[2].predicted == Approx(3.2));
  CHECK(report.comparisons[2].error() == Approx(-0.2));
  CHECK(report.comparisons[3].predicted == report.points[1].scaling_efficiency);
  CHECK(report.comparisons[3].error() == Approx(report.points[1].scaling_efficiency / 0.5 - 1));
}

TEST_CASE("what was not predicted is not compared") {
  const char* const published = R"([{"gpus": 2, "metric": "iteration", "value": "20 ms", "source": "a"},
                                    {"gpus": 1, "metric": "time_to_accuracy", "value": "4 s", "source": "b"}])";
  const SmallFiles with = with_published(published), without = with_published(published, false);
  CHECK(predict(with.load(), 1, {}).comparisons.size() == 2);
  CHECK(predict(without.load(), 1, {}).comparisons.size() == 1);      // no target, no time to it
  CHECK(predict(with.load({}, {1}), 1, {}).comparisons.size() == 1);  // no point of 2 GPUs
  CHECK(predict(without.load({}, {1}), 1, {}).comparisons.empty());
}

TEST_CASE("variants are predicted each with its own settings and baseline") {
  SmallFiles files(even_scenario(), even_cluster());
  files.scenario["variants"] = Json::parse(R"([{"name": "fp32", "set": {}},
                                               {"name": "fp16", "set": {"/communication/wire": "fp16"}}])");
  files.scenario["published"] =
      Json::parse(R"([{"gpus": 2, "metric": "scaling_efficiency", "value": 0.9, "source": "a", "variant": "fp16"}])");
  const Report report = predict(files.load({}, {2}), 2, {});
  REQUIRE(report.points.size() == 2);
  CHECK(report.points[0].variant == "fp32");
  CHECK(report.points[1].variant == "fp16");
  CHECK(report.points[1].point.bytes_sent_per_gpu == Approx(report.points[0].point.bytes_sent_per_gpu / 2));
  CHECK(report.points[1].scaling_efficiency > report.points[0].scaling_efficiency);
  REQUIRE(report.comparisons.size() == 1);
  CHECK(report.comparisons[0].variant == "fp16");
  CHECK(report.comparisons[0].predicted == report.points[1].scaling_efficiency);
}

TEST_CASE("the order of variants is immaterial, and they are compared in one table") {
  const Json variants = Json::parse(R"([
    {"name": "ring", "set": {}},
    {"name": "half", "set": {"/communication/wire": "fp16"}},
    {"name": "wide", "set": {"/cluster/nic/bandwidth": "80 GB/s"}},
    {"name": "tree", "set": {"/communication/all_reduce": "tree"}},
    {"name": "beside", "set": {"/communication/overlap": true}}])");
  std::map<std::string, std::string> first;
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  for (int permutation = 0; permutation < 6; ++permutation) {
    SmallFiles files(even_scenario(), even_cluster());
    files.scenario["compute"]["jitter"] = {{"distribution", "normal"}, {"coefficient_of_variation", 0.05}};
    files.scenario["variants"] = Json::array();
    for (std::size_t i : order) files.scenario["variants"].push_back(variants[i]);
    const Report report = predict(files.load({}, {1, 2}), 2, {});
    REQUIRE(report.points.size() == 10);
    for (const ReportPoint& row : report.points) {
      std::string text;
      for (double seconds : row.point.iteration_s) text += std::to_string(seconds * 1e9) + " ";
      text += std::to_string(row.scaling_efficiency) + " " + std::to_string(row.point.bytes_sent_per_gpu);
      const std::string key = row.variant + " on " + std::to_string(row.point.gpus);
      INFO(key);
      CHECK(first.emplace(key, text).first->second == text);
    }
    const std::string table = table_text(report);
    CHECK_THAT(table, Contains("Variants compared:\nimages/s  1 GPU  2 GPUs  of the fastest at 2\n"));
    CHECK_THAT(table, Contains("100.0 %"));
    std::rotate(order.begin(), order.begin() + 2, order.end());
    if (permutation == 2) std::reverse(order.begin(), order.end());
  }
}

}  // namespace lockstep::tests
