// Plans of scenarios with times from a profile: its uncertain times widen the points' bounds, with a warning.
#include <cmath>

#include "calib/profile.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/point/calibration.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

/// Makes times of 1 ms and 0.1 ms an image, each scattered by this amount in both directions.
Json scattered_profile(double by) {
  calib::Profile profile;
  profile.name = "scattered";
  profile.device = {"G", "host", 1, Json::object()};
  for (const int batch : {16, 64}) {
    const double seconds = 1e-3 + 0.1e-3 * batch;
    profile.samples.push_back(
        {"iteration",
         {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 1}, {"batch", batch}},
         {seconds, (1 - by) * seconds, (1 + by) * seconds},
         "measured",
         "test",
         {},
         {}});
  }
  profile.fits = calib::fit_curves(profile.samples);
  return calib::to_json(profile);
}

struct Predicted {
  std::unique_ptr<sim::PlanSpec> plan;  // the result refers to it
  sim::PlanResult result;
};

Predicted predicted_with(double by) {
  SmallPlan files;
  files.plan["axes"][0]["values"] = {1};
  files.plan["scenario"]["compute"].erase("rates");
  files.plan["scenario"]["compute"]["profile"] = scattered_profile(by);
  auto plan = std::make_unique<sim::PlanSpec>(files.load());
  sim::PlanResult result = worked_out(*plan);
  return {std::move(plan), std::move(result)};
}

bool tells(const sim::Outcome& outcome, const std::string& part) {
  for (const std::string& line : outcome.warnings)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a profile that scatters widens every point's bounds, and each says so") {
  const Predicted of_exact = predicted_with(0), of_scattered = predicted_with(0.2);
  const sim::PlanResult &exact = of_exact.result, &scattered = of_scattered.result;
  REQUIRE(exact.rows.size() == scattered.rows.size());
  for (std::size_t i = 0; i < exact.rows.size(); ++i) {
    const sim::Outcome &a = exact.rows[i].outcome, &b = scattered.rows[i].outcome;
    REQUIRE(a.is_ok());
    REQUIRE(b.is_ok());
    CHECK(a.iteration_s == Approx(b.iteration_s));
    const double stated = a.relative_high - 1;
    CHECK(b.relative_high - 1 == Approx(std::hypot(stated, sim::reach_of_80_percent() * 0.2)));
    CHECK_FALSE(tells(a, "known to"));
    CHECK(tells(b, "are known to 20 % only"));
  }
}

TEST_CASE("a point whose times nobody knows fails, and says what to do") {
  for (const sim::PlanRow& row : predicted_with(0.8).result.rows) {
    CHECK(row.outcome.status == "failed");
    CHECK_THAT(row.outcome.why, Contains("known to 80 % only") && Contains("measure them again"));
  }
}

}  // namespace lockstep::tests
