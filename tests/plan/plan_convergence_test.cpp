// Plans of scenarios whose convergence is a profile. A point uses the profile's iterations. Comparisons of rates do not
// depend on the range of the profile's runs.
#include <cmath>

#include "sim/plan/plan_result.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

/// Iterations to the target: 100 (1 + 500 / images of an update), from runs of 160 to 512 images.
Json saturating_profile() {
  return Json::parse(R"({"schema": "lockstep/convergence/1", "name": "LeNet runs", "model": "lenet_crossbow",
    "data": "MNIST", "train_samples": 51200, "kind": "measured", "source": "planted", "runs": [],
    "targets": [{"name": "99 %", "accuracy": 0.99}],
    "fits": [
      {"algorithm": "s-sgd", "variable": "batch", "target": "99 %", "law": "saturating",
       "parameters": {"iterations_least": 100, "critical": 500}, "log_covariance": [[0, 0], [0, 0]], "spread": 0.1,
       "degrees_of_freedom": 10, "range": [160, 512], "reached": 12, "censored": 0, "diverged": 0}]})");
}

sim::PlanSpec plan_by_profile(SmallPlan& files) {
  files.plan.erase("work");
  files.plan["scenario"]["convergence"] = {{"profile", saturating_profile()}, {"target", 0.99}};
  return files.load();
}

}  // namespace

TEST_CASE("a point takes the iterations of the scenario's profile, with its bounds") {
  SmallPlan files;
  const sim::PlanSpec plan = plan_by_profile(files);
  const sim::PlanResult result = worked_out(plan);
  int ok = 0;
  for (const sim::PlanRow& row : result.rows) {
    const sim::Outcome& o = row.outcome;
    const double images = row.point->setting["GPUs"].get<double>() * row.point->setting["batch"].get<double>();
    INFO(row.point->setting.dump() << " " << o.status << " " << o.why);
    if (images < 40) {  // more than 4 times beyond the runs
      CHECK(o.status == "refused");
      CHECK_THAT(o.why, Contains("images an update are more than 4 times beyond the runs"));
      continue;
    }
    REQUIRE(o.is_ok());
    ++ok;
    CHECK(o.updates == std::ceil(100 * (1 + 500 / images)));
    CHECK(o.time_s == Approx(o.updates * o.iteration_s));
    // Student's t of 10 degrees at 80 % is 1.372 standard deviations of 10 %, so the bound is at least 14.7 % higher.
    CHECK(o.time_s_high > 1.147 * o.time_s);
    CHECK(o.time_s_low < o.time_s / 1.147);
    bool is_told = false;
    for (const std::string& line : o.warnings) is_told = is_told || line.find("extrapolated") != std::string::npos;
    CHECK(is_told == (images < 160));
  }
  CHECK(ok == 8);
}

TEST_CASE("efficiencies and scaling curves need no iterations: a baseline beyond the profile's runs is simulated") {
  SmallPlan files;
  const sim::PlanSpec plan = plan_by_profile(files);
  const sim::PlanResult result = worked_out(plan);
  for (const sim::PlanRow& row : result.rows) {
    INFO(row.point->setting.dump());
    // At batch 16 the baseline, one node of two GPUs, trains on 32 images, which the profile does not cover.
    if (row.outcome.is_ok()) CHECK(row.scaling_efficiency > 0.1);
  }
  REQUIRE(result.scaling.size() == 3);
  for (const sim::ScalingRow& row : result.scaling) CHECK(row.scaling_efficiency > 0.1);
}

}  // namespace lockstep::tests
