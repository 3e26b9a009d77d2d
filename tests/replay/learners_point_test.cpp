// Learners from a scenario's keys to its predictions: throughput within the bound of the fill, memory, the auto-tuner.
#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/point/point.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/learners.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// LeNet has a rate of 1,000 images/s at 16 images, which is 16 ms per iteration.
Scenario scenario_of(double fill, const std::vector<std::pair<std::string, Json>>& more = {}) {
  Json file = tests::even_scenario();
  file["algorithm"] = "sma";
  file["learners"] = {{"fill", fill}};
  for (const auto& [pointer, value] : more) file[Json::json_pointer(pointer)] = value;
  return tests::SmallFiles(file, tests::even_cluster()).one();
}

PointResult predict_with(const Scenario& s, int gpus = 2, Fidelity fidelity = Fidelity::fast) {
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = 16;
  request.fidelity = fidelity;
  request.iterations = 5;
  return predict_points({{&s, request}}, 1).front();
}

PointResult predict_learners(double fill, int learners, std::vector<std::pair<std::string, Json>> more = {}) {
  more.emplace_back("/learners/per_gpu", learners);
  return predict_with(scenario_of(fill, more));
}

}  // namespace

TEST_CASE("a point with learners trains on GPUs x learners x batch, within the bound of the fill") {
  const PointResult two = predict_learners(0.4, 2, {{"/learners/tau", "never"}});
  CHECK(two.samples_per_iteration == 2 * 2 * 16);
  // 16 ms, and the two updates, which fill the GPU, do not run at once: 33 us more.
  CHECK(two.samples_per_s() == Approx(4000).epsilon(4e-3));
  CHECK(two.compute_s == Approx(16.05e-3).epsilon(1e-3));
  CHECK(two.details.learners->fill == 0.4);
  for (int learners : {1, 2, 3, 5}) {
    const PointResult point = predict_learners(0.4, learners);
    INFO(learners);
    CHECK(point.samples_per_s() <= point.details.learners->samples_per_s_bound * (1 + 1e-9));
    CHECK(point.interval.low <= 1);
    CHECK(point.interval.high >= 1);
  }
}

TEST_CASE(
    "learners: fast falls back to fair flows, equal to messages, the closed form is near, the same seed gives the same "
    "bytes") {
  const Scenario s =
      scenario_of(0.6, {{"/learners/per_gpu", 2}, {"/compute/jitter", Json::parse(R"({"distribution": "lognormal",
                                                                           "coefficient_of_variation": 0.05})")}});
  const PointResult fast = predict_with(s), messages = predict_with(s, 2, Fidelity::message),
                    closed = predict_with(s, 2, Fidelity::analytic);
  CHECK(fast.method.text() == "fair flows");
  REQUIRE(fast.iteration_s.size() == messages.iteration_s.size());
  for (std::size_t i = 0; i < fast.iteration_s.size(); ++i)
    CHECK(fast.iteration_s[i] == Approx(messages.iteration_s[i]).epsilon(1e-9));
  CHECK(closed.mean_iteration_s() == Approx(messages.mean_iteration_s()).epsilon(0.1));
}

TEST_CASE("EA-SGD differs from SMA by the update of its average model alone") {
  // On one GPU without overlap: 2 passes less over LeNet's 1,111,946 parameters at 500 GB/s x 0.8.
  const std::vector<std::pair<std::string, Json>> strict{{"/learners/overlap", false}, {"/gpus", Json{1}}};
  Scenario sma_scenario = scenario_of(1, strict);
  Scenario ea_scenario = sma_scenario;
  ea_scenario.algorithm = Algorithm::ea_sgd;
  const double difference_s =
      predict_with(sma_scenario, 1).mean_iteration_s() - predict_with(ea_scenario, 1).mean_iteration_s();
  CHECK(difference_s == Approx(2 * 4 * 1'111'946 / 400e9).epsilon(1e-6));
}

TEST_CASE("learners that do not fit in the GPU's memory are refused with one line") {
  const Scenario s = scenario_of(0.4, {{"/learners/per_gpu", 8}, {"/learners/workspace", "4 GB"}});
  CHECK(most_learners(s, 16) == 3);
  const std::string what = error_of([&] { check_memory(s, 2, 16, "s.json: /learners/per_gpu"); });
  CHECK_THAT(what, Contains("s.json: /learners/per_gpu: memory: batch 16 of 8 learners needs ") &&
                       Contains(" of 14.9 GiB a GPU, ") && Contains("the largest part workspace of 29.8 GiB") &&
                       Contains("allowed: fewer learners, or --ignore-memory"));
  CHECK(what.find('\n') == std::string::npos);
}

TEST_CASE("the auto-tuner ends at the best number of learners of a sweep, or one off") {
  for (double fill : {0.15, 0.3, 0.45, 0.7, 1.0}) {
    std::vector<double> rates;
    for (int m = 1; m <= 10; ++m) rates.push_back(predict_learners(fill, m).samples_per_s());
    const double most = *std::max_element(rates.begin(), rates.end());
    int best = 1;  // the fewest learners within the tuner's tolerance of the most throughput
    while (rates[to_index(best - 1)] < 0.95 * most) ++best;
    const PointResult tuned = predict_learners(fill, 1, {{"/learners/auto_tune", Json::object()}});
    const int chosen = tuned.details.learners->learners_per_gpu;
    INFO("fill " << fill << ", best " << best << ", chosen " << chosen);
    CHECK(std::abs(chosen - best) <= 1);
    CHECK(tuned.samples_per_s() >= 0.95 * most);
    CHECK(tuned.samples_per_s() == Approx(rates[to_index(chosen - 1)]).epsilon(1e-9));
    CHECK(tuned.details.learners->auto_tuner->front().learners == 1);
    CHECK(tuned.notes.size() == 1);
  }
}

TEST_CASE("the auto-tuner stops where memory does") {
  const PointResult tuned =
      predict_learners(0.1, 1, {{"/learners/auto_tune", Json::object()}, {"/learners/workspace", "4 GB"}});
  CHECK(tuned.details.learners->learners_per_gpu == 3);
}
