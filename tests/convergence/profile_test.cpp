// Profiles: from records, to a file and back, and their answers. Expected values are worked by hand.
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "engine/base/atomic_file.hpp"
#include "engine/base/student_t.hpp"
#include "engine/base/study.hpp"
#include "sim/convergence/build.hpp"
#include "sim/convergence/law.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

/// Makes a record of `train` with evaluations (iterations, accuracy).
Json record(const std::string& algorithm, int batch, int seed, const std::vector<std::pair<int, double>>& evaluations) {
  Json json = Json::parse(R"({"schema": "lockstep/run/1", "status": "epochs done", "target": 0.99,
    "model": {"name": "lenet_caffe"}, "data": {"name": "MNIST train", "train_images": 60000}, "epochs": []})");
  json["options"] = {{"algorithm", algorithm}, {"gpus", 1},    {"learners", 1},
                     {"batch", batch},         {"seed", seed}, {"learning_rate", 0.01}};
  json["evaluations"] = Json::array();
  for (const auto& [iterations, accuracy] : evaluations)
    json["evaluations"].push_back({{"iterations", iterations}, {"test_accuracy", accuracy}});
  return json;
}

const std::vector<TargetAccuracy> kTargets{{"96 % test accuracy", 0.96}, {"99 % test accuracy", 0.99}};

ProfileRun run_of(const Json& json) {
  const JsonDocument document = JsonDocument::parse(json.dump(), "run.json");
  return run_of_record(document.root(), "cell", kTargets);
}

/// Writes a sweep's folder: S-SGD at five batches. Its runs follow 100 (1 + 400 / batch) to 96 %, with two seeds 10 %
/// apart, and never reach 99 %.
void write_sweep(const TemporaryFolder& folder) {
  for (const int batch : {25, 50, 100, 200, 400}) {
    for (const int seed : {1, 2}) {
      const double iterations = 100 * (1 + 400.0 / batch) * (seed == 1 ? 0.95 : 1.05);
      const int reached = static_cast<int>(std::lround(iterations));
      folder.write("out/ssgd-" + std::to_string(batch) + "/seed-" + std::to_string(seed) + ".json",
                   record("ssgd", batch, seed, {{reached - 1, 0.95999}, {reached, 0.96}, {9000, 0.97}}).dump());
    }
  }
  folder.write("out/search/ssgd-25/rate-0.1.json", record("ssgd", 25, 100, {{10, 0.999}}).dump());
  folder.write("out/sweep.json",
               R"({"schema": "lockstep/sweep-result/1", "sweep": {"targets": [0.96, 0.99]}, "cells": []})");
}

ConvergenceProfile fitted(const TemporaryFolder& folder, const std::vector<std::string>& held_out = {}) {
  ConvergenceProfile profile = profile_of({folder.path("out")}, {"LeNet", {}, held_out});
  fit_profile(profile);
  return profile;
}

}  // namespace

TEST_CASE("a run reaches a target where its error crosses it, log-linear between two evaluations") {
  // Errors are 8 % at 100 and 2 % at 200 iterations. 4 % is half-way in the logarithm: 150.
  const ProfileRun run = run_of(record("ssgd", 32, 3, {{100, 0.92}, {200, 0.98}, {300, 0.97}}));
  REQUIRE(run.targets.size() == 2);
  CHECK(run.targets[0].is_reached);
  CHECK(run.targets[0].iterations == Approx(150));
  CHECK(run.targets[0].above == 100);
  CHECK_FALSE(run.targets[1].is_reached);
  CHECK(run.targets[1].iterations == 300);
  CHECK(run.setting.algorithm == Algorithm::s_sgd);
  CHECK(run.setting.images() == 32);
  CHECK(run.seed == 3);
}

TEST_CASE("the first evaluation is taken as it is, and epochs where there are no evaluations") {
  CHECK(run_of(record("ssgd", 32, 1, {{100, 0.97}})).targets[0].iterations == 100);
  Json json = record("ssgd", 32, 1, {});
  json.erase("evaluations");
  json["epochs"] = Json::parse(R"([{"iterations": 1875, "test_accuracy": 0.991}])");
  CHECK(run_of(json).targets[1].iterations == 1875);
}

TEST_CASE("train's algorithms under the simulator's names") {
  Json json = record("sma", 16, 1, {{100, 0.9}});
  json["options"]["learners"] = 4;
  json["options"]["gpus"] = 2;
  json["options"]["tau"] = 3;
  ProfileRun run = run_of(json);
  CHECK(run.setting.algorithm == Algorithm::sma);
  CHECK(run.setting.workers == 8);
  CHECK(run.setting.tau == 3);
  json = record("backup", 16, 1, {{100, 0.9}});
  json["options"]["learners"] = 4;
  json["options"]["backups"] = 2;
  CHECK(run_of(json).setting.workers == 4);  // the gradients of an update
  json = record("stale", 32, 1, {{100, 0.9}});
  json["options"]["staleness"] = 20;
  CHECK(run_of(json).setting.algorithm == Algorithm::async_sgd);
  CHECK(run_of(json).setting.staleness == 20);
}

TEST_CASE("an algorithm's older and newer name are one") {
  const std::vector<std::pair<std::string, std::string>> names{
      {"ssgd", "s-sgd"}, {"easgd", "ea-sgd"}, {"backup", "backup-workers"}, {"stale", "async-sgd"}};
  for (const auto& [older, name] : names)
    CHECK(run_of(record(older, 16, 1, {{100, 0.9}})).setting.algorithm ==
          run_of(record(name, 16, 1, {{100, 0.9}})).setting.algorithm);
  CHECK_THROWS_WITH(run_of(record("async-easgd", 16, 1, {{100, 0.9}})),
                    Contains("/options/algorithm: ") &&
                        Contains("allowed: s-sgd, sma, ea-sgd, backup-workers, async-sgd, local-sgd"));
}

TEST_CASE("processes multiply workers, of stale gradients the batch, and not backup workers") {
  Json json = record("sma", 16, 1, {{100, 0.9}});
  json["options"]["gpus"] = 2;
  json["options"]["processes"] = 3;
  CHECK(run_of(json).setting.workers == 6);
  json = record("backup", 16, 1, {{100, 0.9}});
  json["options"]["learners"] = 4;
  json["options"]["processes"] = 2;
  CHECK(run_of(json).setting.workers == 4);  // of all of them
  json = record("stale", 32, 1, {{100, 0.9}});
  json["options"]["processes"] = 4;
  CHECK(run_of(json).setting.workers == 1);
  CHECK(run_of(json).setting.images() == 128);
}

TEST_CASE("a run whose learners were tuned while it trained is refused") {
  Json json = record("sma", 16, 1, {{100, 0.9}});
  json["options"]["auto_tune"] = false;
  CHECK(run_of(json).setting.workers == 1);
  json["options"]["auto_tune"] = true;
  CHECK_THROWS_WITH(run_of(json),
                    "run.json: /options/auto_tune: the number of learners changed during the run: it has no law");
}

TEST_CASE("a run of which a moving average was evaluated is refused") {
  Json json = record("ssgd", 32, 1, {{100, 0.9}});
  json["options"]["moving_average"] = 0.999;
  CHECK_THROWS_WITH(run_of(json),
                    "run.json: /options/moving_average: a moving average of the parameters was evaluated, not the "
                    "parameters: it has no law");
}

TEST_CASE("a profile from a sweep's folder finds the planted law, without the search's runs") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const ConvergenceProfile profile = fitted(folder);
  CHECK(profile.runs.size() == 10);
  CHECK(profile.model == "lenet_caffe");
  const ConvergenceFit* fit = profile.fit(Algorithm::s_sgd, "batch", 0);
  REQUIRE(fit);
  CHECK(std::exp(fit->law.parameters(0)) == Approx(100).epsilon(0.05));
  CHECK(std::exp(fit->law.parameters(1) - fit->law.parameters(0)) == Approx(400).epsilon(0.1));
  CHECK(fit->reached == 10);
  CHECK(fit->from_x == 25);
  CHECK(fit->to_x == 400);
  CHECK_FALSE(profile.fit(Algorithm::s_sgd, "batch", 1));  // none reached it: no law, rather than a guess
}

/// Writes the same records to one file next to the folder.
std::string write_study(const TemporaryFolder& folder) {
  std::map<std::string, Json> records;
  const std::filesystem::path out = folder.path("out");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
    if (!entry.is_regular_file() || entry.path().filename() == "sweep.json") continue;
    const std::string name = entry.path().lexically_relative(out).replace_extension().string();
    records[name] = Json::parse(read_file(entry.path().string()));
  }
  return folder.write("out.jsonl", study_text(Json::parse(read_file(folder.path("out/sweep.json"))), records));
}

TEST_CASE("a profile from one file of records is that from their folder, byte for byte") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const std::string of_folder = to_json(fitted(folder)).dump();
  const std::string study = write_study(folder);
  ConvergenceProfile profile = profile_of({study}, {"LeNet", {}, {}});
  fit_profile(profile);
  CHECK(to_json(profile).dump() == of_folder);
  CHECK_THAT(error_of([&] { profile_of({study, folder.path("out/ssgd-25")}, {}); }), Contains("counted twice"));

  std::filesystem::remove_all(folder.path("out"));
  profile = profile_of({folder.path("")}, {"LeNet", {}, {}});  // found in a folder, too
  fit_profile(profile);
  CHECK(to_json(profile).dump() == of_folder);
}

TEST_CASE("runs that no law takes are kept with the reason, and the others are fitted as without them") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const Json& json) {
    folder.write("runs/" + name + ".json", json.dump());
  };
  for (const int batch : {16, 64, 256})
    for (const int seed : {1, 2})
      write("ssgd-" + std::to_string(batch) + "/seed-" + std::to_string(seed),
            record("ssgd", batch, seed, {{100, 0.9}, {1000 + 16000 / batch + seed, 0.999}}));
  const sim::ProfileRequest request{"", {0.99}, {}};
  const sim::ConvergenceProfile without = sim::profile_of({folder.path("runs")}, request);
  write("own-pace/seed-1", record("async-easgd", 16, 1, {{100, 0.999}}));
  Json tuned = record("sma", 16, 1, {{100, 0.999}});
  tuned["options"]["auto_tune"] = true;
  write("tuned/seed-1", tuned);
  sim::ConvergenceProfile profile = sim::profile_of({folder.path("runs")}, request);
  CHECK(profile.runs.size() == without.runs.size());
  REQUIRE(profile.runs_without_law.size() == 2);
  sim::fit_profile(profile);
  CHECK(profile.fit(Algorithm::s_sgd, "batch", 0));
  const std::string text = sim::profile_text(profile, {});
  CHECK_THAT(text, Contains("not fitted: 1 run of async-easgd: no law of convergence is known for async-easgd"));
  CHECK_THAT(text, Contains("1 run of sma: the number of learners changed during the run"));
  const std::string path = folder.write("profile.json", sim::to_json(profile).dump());
  const JsonDocument again = JsonDocument::load(path);
  CHECK(sim::to_json(sim::convergence_profile_from_json(again.root())) == sim::to_json(profile));

  const TemporaryFolder other;
  other.write("a.json", record("async-easgd", 16, 1, {{100, 0.9}}).dump());
  CHECK_THROWS_WITH(sim::profile_of({other.path("a.json")}, request),
                    Contains("none of the 1 runs can be fitted") && Contains("also runs of s-sgd"));
}

TEST_CASE("local SGD with tau 1 is S-SGD, and its law by tau multiplies that of S-SGD by the batch") {
  const TemporaryFolder folder;
  write_sweep(folder);  // S-SGD: 100 (1 + 400 / batch)
  const auto write_local = [&](int gpus, int tau, double iterations) {
    for (const int seed : {1, 2}) {
      const int reached = static_cast<int>(std::lround(iterations * (seed == 1 ? 0.95 : 1.05)));
      Json json = record("local-sgd", 25, seed, {{reached - 1, 0.95999}, {reached, 0.96}, {9000, 0.97}});
      json["options"]["gpus"] = gpus;
      json["options"]["tau"] = tau;
      folder.write(
          "out/local-" + std::to_string(gpus) + "-" + std::to_string(tau) + "/seed-" + std::to_string(seed) + ".json",
          json.dump());
    }
  };
  for (const int tau : {1, 4, 16}) write_local(4, tau, 500 * std::pow(tau, 0.25));  // 500 = 100 (1 + 400 / 100)
  const ConvergenceProfile profile = fitted(folder);
  const sim::ConvergenceFit* const tau = profile.fit(Algorithm::local_sgd, "tau", 0);
  REQUIRE(tau);
  CHECK(tau->law.parameters(1) == Approx(0.25).margin(0.01));
  CHECK(*tau->learners == 4);
  const sim::ConvergenceFit* const batch = profile.fit(Algorithm::s_sgd, "batch", 0);
  REQUIRE(batch);
  CHECK(batch->reached == 12);  // two of them local SGD with tau 1
  const auto iterations = [&](double gpus, double period) {
    return sim::estimate_iterations(profile, 0, {Algorithm::local_sgd, 25, gpus, period, 0});
  };
  CHECK(iterations(4, 1).bound.iterations == Approx(500).epsilon(0.01));
  CHECK(iterations(4, 16).bound.iterations == Approx(1000).epsilon(0.02));
  CHECK(iterations(8, 16).bound.iterations == Approx(600).epsilon(0.02));  // 100 (1 + 400 / 200) times 2
  CHECK(iterations(4, 16).notes.empty());
  REQUIRE(iterations(8, 16).notes.size() == 1);
  CHECK_THAT(iterations(8, 16).notes[0], Contains("was measured with 4 learners of 25 images, not 8 learners of 25"));
  CHECK(iterations(4, 64).notes.size() == 1);  // extrapolated
  CHECK(why_not_covered(profile, 0, {Algorithm::local_sgd, 25, 4, 65, 0}).has_value());
}

TEST_CASE("other files of JSON lines in a folder are no records") {
  const TemporaryFolder folder;
  write_sweep(folder);
  folder.write("out/plan.points.jsonl", "{\"a\": 1}\n");
  CHECK(fitted(folder).runs.size() == 10);
}

TEST_CASE("a cell that is held out does not move the fit, and is predicted by it") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const Law before = fitted(folder, {"ssgd-100"}).fits[0].law;
  folder.write("out/ssgd-100/seed-3.json", record("ssgd", 100, 3, {{1, 0.1}, {40000, 0.97}}).dump());
  const ConvergenceProfile profile = fitted(folder, {"ssgd-100"});
  CHECK(profile.fits[0].law.parameters == before.parameters);
  const std::vector<LeftOutCell> cells = check_held_out(profile);
  REQUIRE(cells.size() >= 1);
  CHECK(cells[0].cell == "ssgd-100");
  CHECK(cells[0].predicted.iterations == Approx(500).epsilon(0.05));
  CHECK(cells[0].measured == Approx(525).epsilon(0.01));  // median of 475, 525 and the outlier
  CHECK(cells[0].inside == 2);
  CHECK(cells[0].runs == 3);
  CHECK_THROWS_AS(fitted(folder, {"ssgd-999"}), InputError);
}

TEST_CASE("each cell is predicted by fits without it") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const std::vector<LeftOutCell> cells = check_one_by_one(fitted(folder));
  REQUIRE(cells.size() == 5);
  for (const LeftOutCell& cell : cells) CHECK(cell.predicted.iterations == Approx(cell.measured).epsilon(0.15));
}

TEST_CASE("runs at one batch are a point: their mean there, bounds of a further run, and no other batch") {
  const TemporaryFolder folder;
  // 800, 1,000 and 1,250 iterations: the mean of the logarithms is that of 1,000, and deviations are log 1.25 or 0.
  int seed = 0;
  for (const int reached : {800, 1000, 1250}) {
    ++seed;
    folder.write("out/ssgd-128/seed-" + std::to_string(seed) + ".json",
                 record("ssgd", 128, seed, {{reached - 1, 0.95999}, {reached, 0.96}, {9000, 0.97}}).dump());
  }
  folder.write("out/sweep.json",
               R"({"schema": "lockstep/sweep-result/1", "sweep": {"targets": [0.96, 0.99]}, "cells": []})");
  ConvergenceProfile profile = fitted(folder);
  REQUIRE(profile.fits.size() == 1);  // no run reached 99 %
  const TrainingSetting setting = profile.runs.front().setting;
  const IterationsEstimate estimate = estimate_iterations(profile, 0, setting);
  CHECK(estimate.bound.iterations == Approx(1000).epsilon(0.001));
  CHECK(estimate.notes.empty());
  // The three deviate by log 1.25; a new run from their mean by sqrt(4/3) times that. Student's t has two degrees.
  const double reach = student_t_quantile(0.9, 2) * std::log(1.25) * std::sqrt(4.0 / 3);
  CHECK(estimate.bound.high == Approx(1000 * std::exp(reach)).epsilon(0.001));
  CHECK(estimate.bound.low == Approx(1000 * std::exp(-reach)).epsilon(0.001));

  TrainingSetting twice = setting;
  twice.batch *= 2;
  REQUIRE(why_not_covered(profile, 0, twice));
  CHECK(why_not_covered(profile, 0, twice)->find("allowed: 128") != std::string::npos);
  CHECK(check_one_by_one(profile).empty());

  // A run that did not reach the target does not limit the mean.
  folder.write("out/ssgd-128/seed-4.json", record("ssgd", 128, 4, {{5000, 0.9}, {9000, 0.95}}).dump());
  CHECK(fitted(folder).fits.empty());
}

TEST_CASE("records of different models are refused") {
  const TemporaryFolder folder;
  write_sweep(folder);
  Json other = record("ssgd", 25, 9, {{10, 0.9}});
  other["model"]["name"] = "alexnet";
  folder.write("out/z/seed-9.json", other.dump());
  CHECK(error_of([&] { fitted(folder); }).find("allowed: runs of one kind") != std::string::npos);
  CHECK_THROWS_AS(profile_of({folder.path("nothing.json")}, {}), InputError);
}

TEST_CASE("a run counts once: records named twice are refused, a profile beside its records is passed over") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const ConvergenceProfile profile = fitted(folder);
  const std::string made = folder.write("out/a.json", to_json(profile).dump());
  CHECK(fitted(folder).runs.size() == profile.runs.size());
  CHECK(profile_of({made}, {}).runs.size() == profile.runs.size());
  CHECK_THAT(error_of([&] {
               profile_of({folder.path("out"), folder.path("out/ssgd-25")}, {});
             }),
             Contains("counted twice; allowed: each record once"));
  const std::string apart = folder.write("apart.json", to_json(profile).dump());
  CHECK_THAT(error_of([&] { profile_of({apart, folder.path("out")}, {}); }), Contains("counted twice"));
  CHECK_THAT(error_of([&] { profile_of({made, made}, {}); }), Contains("/schema: a profile after other runs"));
  CHECK_THAT(error_of([&] { profile_of({made}, {"", {0.5}, {}}); }), Contains("/targets: the profile has its own"));
}

TEST_CASE("learners that never synchronise are at no x of the law by tau") {
  Json json = Json::parse(R"({"schema": "lockstep/convergence/1", "name": "n", "model": "m", "data": "d",
    "train_samples": 1000, "kind": "measured", "source": "planted", "targets": [{"name": "t", "accuracy": 0.9}]})");
  // 100 tau^0.5
  for (const auto& [tau, iterations] : {std::pair(1.0, 100.0), {4.0, 200.0}, {16.0, 400.0}, {0.0, 5000.0}})
    json["runs"].push_back({{"cell", "c" + Json(tau).dump()},
                            {"algorithm", "sma"},
                            {"batch", 16},
                            {"workers", 2},
                            {"tau", tau},
                            {"targets", {{{"iterations", iterations}}}},
                            {"source", "planted"}});
  const JsonDocument document = JsonDocument::parse(json.dump(), "profile.json");
  ConvergenceProfile profile = convergence_profile_from_json(document.root());
  fit_profile(profile);
  REQUIRE(profile.fit(Algorithm::sma, "tau", 0));
  CHECK(std::exp(profile.fit(Algorithm::sma, "tau", 0)->law.log_iterations(4)) == Approx(200).epsilon(0.02));
  CHECK(profile.fit(Algorithm::sma, "tau", 0)->from_x == 1);
}

TEST_CASE("a profile read back from its file answers the same") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const ConvergenceProfile profile = fitted(folder, {"ssgd-100"});
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "profile.json");
  const ConvergenceProfile back = convergence_profile_from_json(document.root());
  CHECK(to_json(back).dump() == to_json(profile).dump());
  const TrainingSetting setting{Algorithm::s_sgd, 30, 4, 1, 0};
  const IterationsBound a = estimate_iterations(profile, 0, setting).bound;
  const IterationsBound b = estimate_iterations(back, 0, setting).bound;
  CHECK(a.iterations == Approx(b.iterations).epsilon(1e-12));
  CHECK(a.low == Approx(b.low).epsilon(1e-12));
}

TEST_CASE("within the runs no remark, beyond them a note, far beyond a refusal") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const ConvergenceProfile profile = fitted(folder);
  const auto at = [](double images) { return TrainingSetting{Algorithm::s_sgd, images, 1, 1, 0}; };
  CHECK(estimate_iterations(profile, 0, at(80)).notes.empty());
  const IterationsEstimate beyond = estimate_iterations(profile, 0, at(800));
  REQUIRE(beyond.notes.size() == 1);
  CHECK(beyond.notes[0].find("extrapolated: 800 images an update") != std::string::npos);
  CHECK(why_not_covered(profile, 0, at(1700)).value().find("more than 4 times beyond the runs") != std::string::npos);
  CHECK_THROWS_AS(estimate_iterations(profile, 0, at(5)), std::invalid_argument);
  CHECK(why_not_covered(profile, 0, {Algorithm::sma, 16, 4, 1, 0}).value() ==
        "has no law of \"sma\" to 96 % test accuracy; allowed: s-sgd");
}

}  // namespace lockstep::sim
