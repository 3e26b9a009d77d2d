// Chen et al. 2016, "Revisiting distributed synchronous SGD": its scenarios run at small scale, and support the paper's
// conclusions. The scenarios' own runs have the slow results at paper scale.
#include <cmath>

#include "sim/report/optimise.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

LoadedScenario load(const std::string& name, const Settings& settings) {
  return load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/" + name + ".json", settings);
}

Report run(const std::string& name, const Settings& settings) {
  return predict(load(name, settings), 2, {});
}

double arrival_s(const ReportPoint& row, int k) {
  for (const GradientArrival& arrival : *row.point.details.workers->arrivals_s)
    if (arrival.k == k) return arrival.median;
  FAIL("no arrival of gradient " << k);
  return 0;
}

}  // namespace

TEST_CASE("revisiting: without backups the last gradients take the time, 4 backups save most of it") {
  const Report report = run("revisiting-sync-sgd/stragglers", {{"/iterations", "20"}});
  REQUIRE(report.points.size() == 2);
  const ReportPoint &all = report.points[0], &backed = report.points[1];
  CHECK(all.point.samples_per_iteration == 3200);
  CHECK(backed.point.samples_per_iteration == 3072);
  // The paper: most mean times to the k-th gradient lie between 1.4 and 1.8 s, except for the final few.
  CHECK(arrival_s(all, 1) == Approx(1.4).epsilon(0.1));
  CHECK(arrival_s(all, 50) > 1.4);
  CHECK(arrival_s(all, 95) == Approx(1.8).epsilon(0.1));
  CHECK(all.point.mean_iteration_s() > 1.2 * backed.point.mean_iteration_s());
  CHECK(backed.point.details.workers->dropped_share > 0.01);
  CHECK(all.point.details.workers->dropped_share == 0);
  CHECK(all.point.details.workers->delay->rms_log_residual < 0.05);
}

TEST_CASE("revisiting: of 100 machines the best split has a few backups") {
  const LoadedScenario loaded = load("revisiting-sync-sgd/choose_backups", {{"/iterations", "60"}});
  const auto curves = optimise(loaded, "backups", 2);
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].best().setting >= 1);
  CHECK(curves[0].best().setting <= 10);
  // More backups make iterations faster, but more of them are needed.
  const std::vector<Candidate>& curve = curves[0].candidates;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    CHECK(curve[i].iteration_s <= curve[i - 1].iteration_s);
    CHECK(curve[i].iterations > curve[i - 1].iterations);
  }
  CHECK(curve.front().iterations == Approx(76200));
  CHECK(curve.back().iterations == Approx(137500));
  const Json json = optimisation_json(loaded, curves, {"simulate"});
  CHECK(json["schema"] == "lockstep/optimisation/1");
  CHECK(json["optimise"][0]["curve"].size() == curve.size());
  CHECK(json["scenario"] == loaded.resolved);
  CHECK(json["assumptions"].size() == loaded.assumptions.size());
  CHECK(json["provenance"]["inputs"].size() == loaded.inputs.size());
  CHECK(optimisation_text(curves).find("best backups: ") != std::string::npos);
}

TEST_CASE(
    "revisiting: asynchronous gradients of the bottom layers are N - 1 updates old, those of the top layers less") {
  const Report report =
      run("revisiting-sync-sgd/async_staleness",
          {{"/gpus", "[12]"}, {"/baseline/gpus", "12"}, {"/iterations", "4"}, {"/workers/servers", "5"}});
  REQUIRE(report.points.size() == 3);
  std::vector<double> top;
  for (const ReportPoint& row : report.points) {
    const std::vector<ShardStaleness>& table = *row.point.details.workers->staleness;
    CHECK(table.front().summary.mean == Approx(11).margin(1.5));
    CHECK(table.front().summary.count > 30);
    top.push_back(table.back().summary.mean);
  }
  // Reading late and sending early is least stale. Reading at the start or sending at the end adds part of the step.
  CHECK(top[0] < top[1]);
  CHECK(top[1] < 11);
  CHECK(top[0] < top[2]);
}

// Table 1 numbers its layers and does not name them. Layer 0 and layer 18, with 39.0 and 14.5 updates, are bottom and
// top. Layer 12 is less stale than the top, with 11.35. So it must be the auxiliary classifier, which runs backward
// while the layers above still run forward. Layer 11, with 19.8, is then the layer below it. All read at the beginning,
// because reads wait for nothing.
TEST_CASE("revisiting: with 40 workers the staleness of the published layers is within 10 %") {
  const Report report = run("revisiting-sync-sgd/async_staleness", {{"/iterations", "6"}});
  const ReportPoint& row = report.points[1];
  REQUIRE(row.variant == "read at the beginning");
  const auto of = [&](const std::string& layer, double SampleSummary::*statistic) {
    for (const ShardStaleness& shard : *row.point.details.workers->staleness)
      if (shard.shard == layer) return shard.summary.*statistic;
    FAIL("no layer " << layer);
    return 0.0;
  };
  const auto mean_of = [&](const std::string& layer) { return of(layer, &SampleSummary::mean); };
  CHECK(mean_of("1a") == Approx(39.0).epsilon(0.1));
  CHECK(mean_of("6e") == Approx(19.8).epsilon(0.1));
  CHECK(mean_of("aux") == Approx(11.35).epsilon(0.1));
  CHECK(mean_of("fc") == Approx(14.54).epsilon(0.1));
  // Deviations of layers 11, 12 and 18: those of workers anywhere in their steps, up to 38 % short. Evenly apart they
  // would be about 2.
  CHECK(of("6e", &SampleSummary::sd) == Approx(3.65).epsilon(0.35));
  CHECK(of("aux", &SampleSummary::sd) == Approx(3.09).epsilon(0.35));
  CHECK(of("fc", &SampleSummary::sd) > 0.55 * 3.83);
}

TEST_CASE("revisiting: every size of the comparison runs") {
  const LoadedScenario loaded = load("revisiting-sync-sgd/machines", {});
  REQUIRE(loaded.variants.size() == 6);
  std::vector<Scenario> small;
  std::vector<PointJob> jobs;
  for (Scenario scenario : loaded.variants) {
    CHECK(scenario.workers->servers + scenario.gpus[0] <= scenario.cluster.nodes);
    scenario.workers->servers = 3;
    scenario.workers->backups = 1;
    small.push_back(scenario);
  }
  for (const Scenario& scenario : small) {
    PointRequest request;
    request.gpus = 8;
    request.batch_per_gpu = 32;
    request.iterations = 3;
    jobs.push_back({&scenario, request});
  }
  for (const PointResult& point : predict_points(jobs, 2)) {
    CHECK(point.mean_iteration_s() >= 1.3);  // 32 images at 20 images/s, less the update
    CHECK(point.mean_iteration_s() < 4);
  }
}

TEST_CASE("Theano-MPI: asynchronous EASGD scales below the number of GPUs, better with rarer exchanges") {
  const Report every = run("theano-mpi/async_easgd", {{"/iterations", "12"}});
  const Report fourth = run("theano-mpi/async_easgd", {{"/iterations", "12"}, {"/workers/tau", "4"}});
  CHECK(every.points.back().point.gpus == 8);
  CHECK(every.points.back().scaling_efficiency < 1.02);
  CHECK(fourth.points.back().point.samples_per_s() > every.points.back().point.samples_per_s());
}
