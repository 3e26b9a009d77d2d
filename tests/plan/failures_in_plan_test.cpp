// Failures of a plan: time and cost include them, and the report shows both without them.
#include "sim/plan/plan_result.hpp"
#include "tests/base/input_error.hpp"
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
    CHECK(same.outcome.time_s == Approx(row.outcome.time_s));  // nodes are back at once in both
    CHECK(same.money.cost == Approx(row.money.cost * (row.outcome.nodes + 1) / row.outcome.nodes));
  }
  CHECK_THAT(sim::answer_text(result), Contains("of the time goes to failures: ") && Contains("; without any "));
  CHECK_THAT(sim::answer_text(other), Contains("1 spare node"));
  REQUIRE(result.clocked);
  CHECK_THAT(sim::answer_text(result), Contains("runs on SimGrid's clock"));
  CHECK(result.clocked->low_s <= result.clocked->mean_s);
  CHECK(result.clocked->low_s <= result.clocked->high_s);
  // A few short runs miss the mean of all. tests/replay/failure_clock_test.cpp checks that they agree within 2 %.
  CHECK(result.clocked->mean_s == Approx(result.rows[*result.recommended].outcome.time_s).epsilon(0.1));
  const Json answer = sim::plan_json(result, {})["answer"];
  CHECK(answer["failure_runs"]["runs"] == result.clocked->runs);
  CHECK(answer["failure_runs"]["time_s"].get<double>() == Approx(result.clocked->mean_s).epsilon(1e-11));
  CHECK(sim::plan_json(worked_out(SmallPlan().load()), {})["answer"]["failure_runs"].is_null());
  CHECK_THAT(sim::plan_table(result), Contains("goodput"));
  const Json point = sim::plan_json(result, {})["points"][0];
  CHECK(point["goodput"].get<double>() < 1);
  CHECK(point["time_without_failures_s"] < point["time_s"]);
  CHECK(point["cost_without_failures"] < point["cost"]);
  bool is_told = false;
  for (const Assumption& a : result.assumptions) is_told = is_told || a.pointer == "/failures/checkpoint_bandwidth";
  CHECK(is_told);
}

namespace {

Json trace_of(const char* length, const Json& intervals) {
  return {{"schema", "lockstep/availability/1"},
          {"name", "a small trace"},
          {"kind", "assumed"},
          {"source", "by hand"},
          {"length", length},
          {"intervals", intervals}};
}

}  // namespace

TEST_CASE("spot nodes that never leave change nothing; those that are never there refuse a point") {
  const Json steady{{"per_node_day", 5}, {"restart", "2 min"}, {"repair", "0 s"}};
  Json spot = steady;
  spot["availability"] = trace_of("1 h", {{{"from", "0 s"}, {"to", "1 h"}}});
  const sim::PlanSpec plan = failing(steady), on_spot = failing(spot);
  const sim::PlanResult result = worked_out(plan), other = worked_out(on_spot);
  int refused = 0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const sim::Outcome &a = result.rows[i].outcome, &b = other.rows[i].outcome;
    if (a.nodes > 1) {
      ++refused;
      CHECK(b.status == "refused");
      CHECK_THAT(b.why, Contains("needs 2 nodes at once; a small trace has at most 1"));
      continue;
    }
    REQUIRE(b.is_ok());
    if (a.fidelity != b.fidelity) continue;
    // Up to the last interval between checkpoints, of which the closed form counts a part.
    CHECK(b.time_s == Approx(a.time_s).epsilon(0.02));
    CHECK(b.paid_share == Approx(1));
    CHECK(b.spot_interruptions == 0);
  }
  CHECK(refused > 0);
}

TEST_CASE("spot nodes that leave cost time, and money for what is done twice but not for waiting") {
  // Available for ten minutes in every twenty. A restart takes one minute.
  const Json spot{{"per_node_day", 0},
                  {"restart", "1 min"},
                  {"checkpoint_interval", "1 min"},
                  {"availability", trace_of("20 min", {{{"from", "0 s"}, {"to", "10 min"}, {"nodes", 2}}})}};
  const sim::PlanSpec plan = failing(spot);
  const sim::PlanResult result = worked_out(plan);
  for (const sim::PlanRow& row : result.rows) {
    const sim::Outcome& o = row.outcome;
    REQUIRE(o.is_ok());
    // Short trainings may start when nodes are available, or wait ten minutes for them.
    CHECK(o.goodput < 0.9);
    CHECK(o.paid_share > 0.3);
    CHECK(o.paid_share < 0.8);
    CHECK(o.time_s_low <= o.time_s);
    CHECK(o.time_s <= o.time_s_high);
    CHECK(o.interruptions == o.spot_interruptions);
    const sim::Money without = sim::money_without_failures(plan.prices, row);
    CHECK(row.money.cost == Approx(without.cost * o.paid_share / o.goodput));
    CHECK(row.money.cost > without.cost);
  }
  CHECK_THAT(sim::answer_text(result), Contains("by the loss of spot nodes (a small trace)") &&
                                           Contains(" of unpaid waiting for nodes") && Contains("; without any "));
  const Json point = sim::plan_json(result, {})["points"][0];
  CHECK(point["spot_interruptions"] > 0);
  CHECK(point["waiting_for_nodes_s"] > 0);
  int told = 0;
  for (const Assumption& a : result.assumptions) told += a.pointer.rfind("/failures/availability", 0) == 0;
  CHECK(told == 1);  // the trace, but not each of its intervals
}

TEST_CASE("a trace of spot nodes is a file beside the plan, and its errors name it") {
  SmallPlan files;
  files.plan["failures"] = {{"availability", "spot.json"}};
  const Json good = trace_of("1 h", {{{"from", "0 s"}, {"to", "1 h"}, {"nodes", 2}}});
  files.folder.write("spot.json", good.dump());
  CHECK(files.load().failures->availability->most_nodes() == 2);
  Json bad = good;
  bad["intervals"][0]["to"] = "2 h";
  files.folder.write("spot.json", bad.dump());
  CHECK_THAT(error_of([&] { files.load(); }), Contains("spot.json: /length: an interval ends at"));
  files.plan["failures"] = {{"availability", "none.json"}};
  CHECK_THAT(error_of([&] { files.load(); }), Contains("/failures/availability: cannot read"));
}

}  // namespace lockstep::tests
