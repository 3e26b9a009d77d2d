// Failures of a plan: time and cost carry them, and the same without them is told.
#include "sim/plan/plan_result.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

sim::PlanSpec failing(const Json& failures) {
  SmallPlan files;
  files.plan["failures"] = failures;
  return files.load();
}

}  // namespace

TEST_CASE("a plan without interruptions takes its checkpoints longer, and no more") {
  const sim::PlanSpec plain = SmallPlan().load();
  const sim::PlanSpec plan = failing({{"per_node_day", 0}, {"checkpoint_interval", "1 min"}});
  const sim::PlanResult without = worked_out(plain), with = worked_out(plan);
  REQUIRE(with.rows.size() == without.rows.size());
  for (std::size_t i = 0; i < with.rows.size(); ++i) {
    const sim::Outcome &a = without.rows[i].outcome, &b = with.rows[i].outcome;
    CHECK(a.undisturbed_s == 0);
    CHECK(b.undisturbed_s * b.goodput == Approx(b.time_s * b.goodput * b.goodput));
    CHECK(b.goodput == Approx(60 / (60 + b.checkpoint_s)));
    if (a.fidelity == b.fidelity) CHECK(b.undisturbed_s == Approx(a.time_s));
  }
}

TEST_CASE("interruptions cost time and money, spares money, and the answer says so") {
  const Json often{{"per_node_day", 5}, {"restart", "2 min"}, {"repair", "0 s"}};
  Json with_spare = often;
  with_spare["spares"] = 1;
  const sim::PlanSpec plan = failing(often), spared = failing(with_spare);
  const sim::PlanResult result = worked_out(plan), other = worked_out(spared);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const sim::PlanRow &row = result.rows[i], &same = other.rows[i];
    CHECK(row.outcome.goodput < 0.999);
    CHECK(row.outcome.time_s == Approx(row.outcome.undisturbed_s / row.outcome.goodput));
    const sim::Money without = sim::money_without_failures(plan.prices, row);
    CHECK(without.cost == Approx(row.money.cost * row.outcome.goodput));
    CHECK(same.outcome.time_s == Approx(row.outcome.time_s));  // nodes are back at once either way
    CHECK(same.money.cost == Approx(row.money.cost * (row.outcome.nodes + 1) / row.outcome.nodes));
  }
  CHECK_THAT(sim::answer_text(result), Contains("of the time goes to failures: ") && Contains("; without any "));
  CHECK_THAT(sim::answer_text(other), Contains("1 spare node"));
  CHECK_THAT(sim::plan_table(result), Contains("goodput"));
  const Json point = sim::plan_json(result, {})["points"][0];
  CHECK(point["goodput"].get<double>() < 1);
  CHECK(point["time_without_failures_s"] < point["time_s"]);
  CHECK(point["cost_without_failures"] < point["cost"]);
  bool is_told = false;
  for (const Assumption& a : result.assumptions) is_told = is_told || a.pointer == "/failures/checkpoint_bandwidth";
  CHECK(is_told);
}

}  // namespace lockstep::tests
