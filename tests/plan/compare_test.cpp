// Uncertainty that two points share cancels in their ratio.
#include "sim/plan/compare.hpp"

#include "sim/plan/plan_result.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

sim::PlanRow row_of(const std::string& gpu, double time_s, double spread_compute, double spread_bandwidth) {
  sim::PlanRow row;
  sim::Outcome& o = row.outcome;
  o.gpu = gpu;
  o.cluster = gpu + " servers";
  o.links = "8 x 50 GB/s";
  o.nodes = 2;
  o.global_batch = 64;
  o.time_s = time_s;
  o.spread_compute = spread_compute;
  o.spread_bandwidth = spread_bandwidth;
  const double half = std::hypot(spread_compute, spread_bandwidth);
  o.time_s_low = time_s * (1 - half);
  o.time_s_high = time_s * (1 + half);
  row.money.is_known = true;
  row.money.cost = time_s;
  return row;
}

}  // namespace

TEST_CASE("of the same GPU and network the order is sure, of two GPUs with the same bounds it is not") {
  const sim::PlanRow two = row_of("A", 100, 0.2, 0.03), four = row_of("A", 110, 0.19, 0.05);
  CHECK(two.outcome.time_s_high > four.outcome.time_s_low);  // their own bounds overlap
  const sim::Ratio same = sim::time_ratio(two, four);
  CHECK(same.value == Approx(1.1));
  CHECK(same.is_sure());
  CHECK(same.high / same.value == Approx(std::exp(std::hypot(0.01, 0.02))));
  const sim::Ratio other = sim::time_ratio(two, row_of("B", 110, 0.19, 0.05));
  CHECK(!other.is_sure());
  CHECK(other.high / other.value == Approx(std::exp(std::sqrt(0.2 * 0.2 + 0.19 * 0.19 + 0.03 * 0.03 + 0.05 * 0.05))));
}

TEST_CASE("a ratio is the inverse of the other way round, and nothing is as sure as a point beside itself") {
  const sim::PlanRow a = row_of("A", 100, 0.2, 0.03), b = row_of("B", 140, 0.1, 0.05);
  const sim::Ratio there = sim::time_ratio(a, b), back = sim::time_ratio(b, a);
  CHECK(there.value * back.value == Approx(1));
  CHECK(there.low * back.high == Approx(1));
  CHECK(sim::time_ratio(a, a).high == Approx(1));
  CHECK(sim::cost_ratio(a, a, 0.1).high == Approx(1));  // both have the same price error of one GPU
  CHECK(sim::cost_ratio(a, b, 0.1).high > sim::cost_ratio(a, b, 0).high);
}

TEST_CASE("links of another network are not shared, and neither are epochs at another batch") {
  const sim::PlanRow a = row_of("A", 100, 0.2, 0.1);
  sim::PlanRow b = row_of("A", 100, 0.2, 0.1);
  CHECK(sim::time_ratio(a, b).high == Approx(1));
  b.outcome.links = "1 x 12 GB/s";
  CHECK(sim::time_ratio(a, b).high == Approx(std::exp(std::hypot(0.1, 0.1))));
  b.outcome.nodes = 1;
  CHECK(sim::time_ratio(a, b).high == Approx(std::exp(std::hypot(0.1, 0.1))));
  b = row_of("A", 100, 0.2, 0.1);
  b.outcome.global_batch = 128;
  b.outcome.time_s_high = 100 * (1 + std::hypot(0.2, 0.1, 0.15));
  b.outcome.time_s_low = 100 * (1 - std::hypot(0.2, 0.1, 0.15));
  CHECK(sim::time_ratio(a, b).high == Approx(std::exp(0.15)));
}

TEST_CASE("a what-if recommends what a plan of such machines recommends") {
  for (const char* objective : {R"({"kind": "least-cost"})", R"({"kind": "least-time"})",
                                R"({"kind": "least-cost-by-deadline", "deadline": "8 min"})"}) {
    INFO(objective);
    SmallPlan files;
    files.plan["objective"] = Json::parse(objective);
    const sim::PlanSpec plan = files.load();
    const sim::PlanResult result = worked_out(plan);
    files.plan["axes"][2]["values"][0]["set"]["/cluster/nic/bandwidth"] = "0.5 Gbit/s";
    files.plan["axes"][2]["values"][1]["set"]["/cluster/nic/bandwidth"] = "50 Gbit/s";
    const sim::PlanSpec slower = files.load();
    const sim::PlanResult then = worked_out(slower);
    REQUIRE(then.recommended);
    bool is_told = false;
    for (const sim::SensitivityRow& row : result.sensitivity) {
      if (row.what != "network bandwidth halved") continue;
      is_told = true;
      REQUIRE(row.recommended);
      CHECK(*row.recommended == *then.recommended);
      CHECK(row.then_time_s == Approx(then.rows[*then.recommended].outcome.time_s).epsilon(0.03));
    }
    CHECK(is_told);
  }
}

}  // namespace lockstep::tests
