// --optimise over a convergence profile: the best setting has the least time, worked by hand. Only settings that the
// profile's runs cover are tried.
#include "sim/report/optimise.hpp"

#include "sim/program/gpu_memory.hpp"
#include "sim/report/result.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

/// Defines iterations to the target: 100 (1 + 512 / batch) by S-SGD, 100 (1 + 8 / learners) by SMA at batch 16.
Json profile() {
  return Json::parse(R"({"schema": "lockstep/convergence/1", "name": "LeNet", "model": "lenet_crossbow",
    "data": "MNIST", "train_samples": 51200, "kind": "measured", "source": "planted", "runs": [],
    "targets": [{"name": "99 %", "accuracy": 0.99}],
    "fits": [
      {"algorithm": "s-sgd", "variable": "batch", "target": "99 %", "law": "saturating",
       "parameters": {"iterations_least": 100, "critical": 512}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
       "degrees_of_freedom": 10, "range": [8, 512], "reached": 12, "censored": 0, "diverged": 0},
      {"algorithm": "sma", "variable": "learners", "target": "99 %", "batch": 16, "law": "saturating",
       "parameters": {"iterations_least": 100, "critical": 8}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
       "degrees_of_freedom": 10, "range": [1, 8], "reached": 12, "censored": 0, "diverged": 0}]})");
}

/// One GPU that computes 1,000 images/s at any batch, on a cluster whose communication costs almost nothing.
SmallFiles& prepare(SmallFiles& files) {
  files.scenario["gpus"] = {1};
  files.scenario["fidelity"] = "analytic";
  Json& rates = files.scenario["compute"]["rates"] = Json::array();  // between two batches the roofline has its say
  for (int batch = 8; batch <= 512; batch *= 2) {
    rates.push_back({{"batch", batch}, {"rate", "1000 images/s"}});
    if (batch < 512) rates.push_back({{"batch", batch + batch / 2}, {"rate", "1000 images/s"}});
  }
  files.scenario["convergence"] = {{"profile", profile()}, {"target", 0.99}};
  return files;
}

}  // namespace

TEST_CASE("the best batch of a device of constant rate is the least: it needs the fewest images") {
  SmallFiles files(even_scenario(), even_cluster());
  const auto curves = sim::optimise(prepare(files).load(), "batch", 1);
  REQUIRE(curves.size() == 1);
  const std::vector<sim::Candidate>& all = curves[0].candidates;
  // 8, 12, ... 384, 512: within the runs, no extrapolation.
  CHECK(all.front().setting == 8);
  CHECK(all.back().setting == 512);
  CHECK(curves[0].best().setting == 8);
  CHECK(curves[0].beyond_memory == 0);
  for (const sim::Candidate& c : all) {
    // iterations x batch / 1000 images/s = 100 (batch + 512) / 1000
    CHECK(c.iterations == Approx(100 * (1 + 512.0 / c.setting)).epsilon(1e-9));
    CHECK(c.seconds() == Approx(0.1 * (c.setting + 512)).epsilon(0.02));
    CHECK(c.epochs == Approx(100 * (c.setting + 512.0) / 51200).epsilon(0.001));
    CHECK(c.low_s < c.seconds());
    CHECK(c.high_s > c.seconds());
  }
  CHECK(sim::optimisation_text(curves).find("best batch: 8") != std::string::npos);
  CHECK(sim::curves_json(curves)[0]["curve"].size() == all.size());
}

TEST_CASE("the best batch grows with what an iteration costs beside its images") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  files.scenario["gpus"] = {2};
  files.scenario["communication"]["launch_overhead"] = "0.1 s";
  // Two GPUs of B images: 100 (1 + 256 / B) (0.1 + B / 1000 + ...) s is least near B = sqrt(256 x 100) = 160.
  const int best = sim::optimise(files.load(), "batch", 1)[0].best().setting;
  CHECK(best >= 96);
  CHECK(best <= 256);
}

TEST_CASE("learners: the point's time is the simulated iteration times the profile's iterations") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  files.scenario["algorithm"] = "sma";
  files.scenario["learners"] = {{"fill", 0.5}};
  const auto curves = sim::optimise(files.load(), "learners", 1);
  const std::vector<sim::Candidate>& all = curves[0].candidates;
  REQUIRE(all.size() == 8);
  // A learner fills half of the GPU. The second one is free, and two learners need 500 instead of 900 updates.
  CHECK(all[0].iterations == Approx(900));
  CHECK(all[1].iterations == Approx(500));
  CHECK(all[1].iteration_s == Approx(all[0].iteration_s).epsilon(0.1));
  CHECK(curves[0].best().setting >= 2);
}

TEST_CASE("no batch and no number of learners is tried that the GPU's memory does not hold") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  const auto megabytes = [&](int batch) {
    return sim::gpu_memory(files.load().variants.front(), 1, batch).total_bytes() / 1e6;
  };
  files.cluster["gpu"]["memory"] = std::to_string((megabytes(256) + megabytes(384)) / 2) + " MB";
  const auto curves = sim::optimise(files.load(), "batch", 1);
  CHECK(curves[0].candidates.back().setting == 256);
  CHECK(curves[0].beyond_memory == 384);
  CHECK_THAT(sim::optimisation_text(curves), Contains("from 384 on a GPU's memory does not hold it"));
  CHECK(sim::curves_json(curves)[0].at("beyond_memory") == 384);

  files.scenario["algorithm"] = "sma";
  files.scenario["batch_per_gpu"] = 16;
  files.scenario["learners"] = {{"fill", 0.5}, {"per_gpu", 3}};
  files.cluster["gpu"]["memory"] = std::to_string(megabytes(16)) + " MB";
  const auto learners = sim::optimise(files.load(), "learners", 1);
  CHECK(learners[0].candidates.back().setting == 3);
  CHECK(learners[0].beyond_memory == 4);

  files.cluster["gpu"]["memory"] = "1 MB";
  CHECK_THAT(error_of([&] { sim::optimise(files.load(), "learners", 1); }),
             Contains("no setting that the profile's runs cover fits into the GPUs' 1.00 MB at 1 GPUs"));
}

TEST_CASE("what cannot be optimised is refused") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  const auto error = [&](const char* what, const Settings& settings, const std::vector<int>& gpus = {}) {
    return error_of([&] { sim::optimise(files.load(settings, gpus), what, 1); });
  };
  CHECK(error("learners", {}) == "--optimise learners: small has the algorithm \"s-sgd\"; allowed: sma, ea-sgd");
  CHECK(error("nothing", {}) == "--optimise nothing: cannot be optimised; allowed: backups, batch, learners");
  files.scenario.erase("convergence");
  CHECK(error("batch", {}) ==
        "--optimise batch: small does not say how many iterations it takes; allowed: an object /convergence");
}

TEST_CASE("an extrapolated point says so, and its bounds are the profile's") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  files.scenario["batch_per_gpu"] = 600;
  const sim::Report report = sim::predict(files.load(), 1, {});
  const sim::ReportPoint& row = report.points.at(0);
  CHECK(row.accuracy.iterations == 186);  // 100 (1 + 512 / 600) = 185.3
  REQUIRE(row.accuracy.notes.size() == 1);
  CHECK(row.accuracy.notes[0].find("600 images an update, and the runs of LeNet had 8 to 512") != std::string::npos);
  CHECK(sim::table_text(report).find("extrapolated") != std::string::npos);
  CHECK(sim::result_json(report, {}).at("points")[0].at("notes").size() == 2);
}

TEST_CASE("a fixed number of epochs says nothing of the batch: no batch is recommended by it") {
  SmallFiles files(even_scenario(), even_cluster());
  prepare(files);
  files.scenario["convergence"] = Json::parse(R"({"target": "99 %", "train_samples": 51200, "epochs": 3})");
  CHECK_THAT(error_of([&] { sim::optimise(files.load(), "batch", 1); }),
             Contains("does not say how iterations depend on the batch; allowed: /convergence/profile"));
}

}  // namespace lockstep::tests
