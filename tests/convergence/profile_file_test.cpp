// A profile's file: laws written by hand give their values, wrong files are refused, shipped ones load.
#include <cmath>
#include <filesystem>
#include <memory>

#include "sim/convergence/build.hpp"
#include "sim/convergence/law.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

/// Laws written by hand: SMA 100 (1 + 8 / m) at batch 16 and m^..., tau^0.5; stale gradients 1000 (1 + 0.02 age).
const char* const kByHand = R"({"schema": "lockstep/convergence/1", "name": "by hand", "model": "m", "data": "d",
  "train_samples": 60000, "kind": "measured", "source": "test", "runs": [],
  "targets": [{"name": "t", "accuracy": 0.9}],
  "fits": [
    {"algorithm": "sma", "variable": "learners", "target": "t", "batch": 16, "law": "saturating",
     "parameters": {"iterations_least": 100, "critical": 8}, "log_covariance": [[0.01, 0], [0, 0.01]], "spread": 0.1,
     "degrees_of_freedom": 10, "range": [1, 16], "reached": 12, "censored": 0, "diverged": 0},
    {"algorithm": "sma", "variable": "tau", "target": "t", "batch": 16, "learners": 4, "law": "power",
     "parameters": {"iterations_at_1": 300, "exponent": 0.5}, "log_covariance": [[0.01, 0], [0, 0.01]], "spread": 0.1,
     "degrees_of_freedom": 10, "range": [1, 4], "reached": 12, "censored": 0, "diverged": 0},
    {"algorithm": "async-sgd", "variable": "staleness", "target": "t", "batch": 32, "law": "linear",
     "parameters": {"iterations_fresh": 1000, "per_unit": 0.02}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
     "deviations": {"between": 0.04, "within": 0.02,
                    "cells": [{"x": 0, "log_deviation": 0, "runs": 2}, {"x": 20, "log_deviation": 0.2, "runs": 2}]},
     "degrees_of_freedom": 10, "range": [0, 50], "reached": 12, "censored": 0, "diverged": 0},
    {"algorithm": "s-sgd", "variable": "batch", "target": "t", "law": "table",
     "table": [{"x": 256, "iterations": 1000}, {"x": 1024, "iterations": 500}], "spread": 0.1,
     "degrees_of_freedom": 10, "range": [256, 1024], "reached": 2, "censored": 0, "diverged": 0}]})";

ConvergenceProfile by_hand() {
  const JsonDocument document = JsonDocument::parse(kByHand, "p.json");
  return convergence_profile_from_json(document.root());
}

}  // namespace

TEST_CASE("laws by learners, tau, staleness and a table, by hand") {
  const ConvergenceProfile profile = by_hand();
  // 100 (1 + 8 / 4) = 300 is the value; tau 4 doubles it and widens the bounds.
  const IterationsBound one = estimate_iterations(profile, 0, {Algorithm::sma, 16, 4, 1, 0}).bound;
  CHECK(one.iterations == Approx(300));
  const IterationsBound four = estimate_iterations(profile, 0, {Algorithm::sma, 16, 4, 4, 0}).bound;
  CHECK(four.iterations == Approx(600));
  CHECK(four.high / four.iterations > one.high / one.iterations);
  // Variance 0.1^2 + 0.01 (1/3)^2 + 0.01 (2/3)^2 = 0.015556; t of 80 % with 10 degrees 1.3722.
  CHECK(one.high == Approx(300 * std::exp(1.3722 * std::sqrt(0.0155556))).epsilon(1e-4));
  // The cells at ages of 0 and 20 have K = [[0.05, c], [c, 0.05]], c = 0.04 0.7 / sqrt(21), and 0.2 at 20. At 20 itself
  // the covariances are (c, 0.04): 0.2 (0.05 0.04 - c^2) / (0.05^2 - c^2).
  const double c = 0.028 / std::sqrt(21.0), moved = 0.2 * (0.002 - c * c) / (0.0025 - c * c);
  const IterationsBound stale = estimate_iterations(profile, 0, {Algorithm::async_sgd, 32, 1, 1, 20}).bound;
  CHECK(stale.iterations == Approx(1400 * std::exp(moved)));
  CHECK(stale.high / stale.iterations == Approx(std::exp(1.3722 * 0.1)).epsilon(1e-4));  // no narrower for it
  // Half-way in the logarithm of the batch, it is the geometric mean of 1000 and 500.
  CHECK(estimate_iterations(profile, 0, {Algorithm::s_sgd, 512, 1, 1, 0}).bound.iterations == Approx(std::sqrt(5e5)));
  CHECK(why_not_covered(profile, 0, {Algorithm::sma, 32, 4, 1, 0}).value() ==
        "its runs of \"sma\" had a batch of 16 per learner or worker, not 32");
  CHECK(why_not_covered(profile, 0, {Algorithm::sma, 16, 4, 0, 0}).has_value());  // never synchronised
  CHECK(why_not_covered(profile, 0, {Algorithm::sma, 16, 4, 17, 0}).has_value());
}

TEST_CASE("time to accuracy takes the profile's bounds, and updates that share an iteration") {
  ConvergenceSpec spec;
  spec.profile = std::make_shared<const ConvergenceProfile>(by_hand());
  spec.target = "t";
  spec.train_samples = 60000;
  // 11 workers of 32 images, gradients 10 updates old: as many updates in rounds of 11.
  const double updates = estimate_iterations(*spec.profile, 0, {Algorithm::async_sgd, 32, 1, 1, 10}).bound.iterations;
  const IterationsEstimate rounds = iterations_to_target(spec, {Algorithm::async_sgd, 32, 1, 1, 10}, 352, 0.05);
  CHECK(rounds.bound.iterations == Approx(updates / 11.0));
  const TimeToAccuracy time = time_to_accuracy(spec, rounds, 352, 2, 1, 1);
  CHECK(static_cast<double>(time.iterations) == std::ceil(updates / 11));
  CHECK(time.seconds == Approx(2 * std::ceil(updates / 11)));
  CHECK(time.epochs == Approx(updates * 32 / 60000.0));
  const double factor = std::exp(1.3722 * 0.1);
  CHECK(time.high_s == Approx(time.seconds * factor).epsilon(1e-4));
  CHECK(time.low_s == Approx(time.seconds / factor).epsilon(1e-4));
}

TEST_CASE("a profile that is wrong is refused in one line") {
  struct Bad {
    const char* was;
    const char* is;
    const char* error;
  };
  const Bad bad[] = {
      {"convergence/1", "convergence/2", "/schema: "},
      {"\"train_samples\": 60000", "\"train_samples\": -1", "/train_samples: "},
      {"\"accuracy\": 0.9", "\"accuracy\": 90", "/targets/0/accuracy: "},
      {"\"kind\": \"measured\"", "\"kind\": \"guessed\"", "/kind: "},
      {"\"target\": \"t\"", "\"target\": \"u\"", "/fits/0/target: is none of the profile's targets"},
      {"\"law\": \"saturating\"", "\"law\": \"cubic\"", "/fits/0/law: "},
      {"\"critical\": 8", "\"critical\": 0", "/fits/0/parameters/critical: "},
      {"\"critical\": 8", "\"exponent\": 8", "/fits/0/parameters: unknown key \"exponent\""},
      {"[[0.01, 0], [0, 0.01]]", "[[0.01, 0]]", "/fits/0/log_covariance: is no matrix"},
      {"[[0.01, 0], [0, 0.01]]", "[[0.01, 1], [1, 0.01]]", "/fits/0/log_covariance: is no covariance"},
      {"\"range\": [1, 16]", "\"range\": [16, 1]", "/fits/0/range/1: "},
      {"\"variable\": \"tau\"", "\"variable\": \"learners\"", "/fits/1: is there twice"},
      {"{\"x\": 1024", "{\"x\": 256", "/fits/3/table/1/x: not in ascending order"},
      {"\"between\": 0.04", "\"between\": -1", "/fits/2/deviations/between: "},
      {"\"within\": 0.02,", "", "/fits/2/deviations: missing"},
      {"{\"x\": 20, \"log", "{\"x\": 0, \"log", "/fits/2/deviations/cells/1/x: not in ascending order"},
      {"\"runs\": 2}", "\"runs\": 0}", "/fits/2/deviations/cells/0/runs: "},
      {"\"spread\": 0.1", "\"spread\": -0.1", "/fits/0/spread: "},
      {"\"runs\": []", "\"run\": []", "unknown key \"run\""},
  };
  for (const Bad& b : bad) {
    std::string text = kByHand;
    text.replace(text.find(b.was), std::string(b.was).size(), b.is);
    INFO(b.is);
    const std::string error = error_of([&] {
      const JsonDocument document = JsonDocument::parse(text, "p.json");
      convergence_profile_from_json(document.root());
    });
    INFO(error);
    CHECK(error.rfind("p.json: ", 0) == 0);
    CHECK(error.find(b.error) != std::string::npos);
  }
}

TEST_CASE("every shipped profile loads, its runs have sources, and each of its laws answers in its middle") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/convergence")) {
    INFO(entry.path());
    const JsonDocument document = JsonDocument::load(entry.path().string());
    const ConvergenceProfile profile = convergence_profile_from_json(document.root());
    ++files;
    CHECK(profile.source.size() > 10);
    CHECK_FALSE(profile.fits.empty());
    for (const ProfileRun& run : profile.runs) CHECK(run.source.size() > 5);
    for (const ConvergenceFit& fit : profile.fits) {
      if (fit.variable == "tau") continue;
      const double x = 0.5 * (fit.from_x + fit.to_x);
      TrainingSetting setting{fit.algorithm, fit.batch.value_or(1), 1, 1, 0};
      (fit.variable == "staleness" ? setting.staleness : setting.workers) = x;
      const IterationsEstimate estimate = estimate_iterations(profile, fit.target, setting);
      CHECK(estimate.notes.empty());
      CHECK(estimate.bound.low > 0);
      CHECK(estimate.bound.high > estimate.bound.iterations);
    }
  }
  CHECK(files >= 4);
}

}  // namespace lockstep::sim
