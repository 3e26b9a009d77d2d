// A plan without given splits: each point has the split that a search at its size finds, and its update is a stage's.
#include "sim/plan/evaluate.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/point/best_splits.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

// Removes the split of a language model on 1 to 8 nodes of 8 H100.
void leave_split_open(SmallPlan& files) {
  files.plan["scenario"] = Json::parse(R"({
    "schema": "lockstep/scenario/1", "name": "splits", "model": "llama3_8b@8192", "gpus": [8], "fidelity": "analytic",
    "parallel": {"global_batch": 64, "sharding": "zero1"}, "compute": {"precision": "bf16", "optimizer": "adam"},
    "communication": {"all_reduce": "nccl", "wire": "fp16"}})");
  files.plan["scenario"]["cluster"] = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/dgx_h100.json";
  files.plan["axes"] = Json::parse(R"([{"name": "GPUs", "pointer": "/gpus", "values": [16, 32, 64]}])");
  files.plan["objective"] = {{"kind", "least-time"}};
  files.plan.erase("limits");
  files.plan["split"] = "all";
}

}  // namespace

TEST_CASE("a plan of all splits: each point is the fastest that a search finds at its size, and says which") {
  SmallPlan files;
  leave_split_open(files);
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  REQUIRE(result.rows.size() == 3);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const sim::PlanRow row = result.rows[i];
    INFO(row.point->setting.dump() << row.outcome.why);
    REQUIRE(row.outcome.is_ok());
    const sim::Scenario stated = sim::scenario_with(plan, row.point->settings).variants.front();
    const int gpus = stated.gpus.front();
    const sim::RankedSplit best = best_splits(stated, gpus, all_splits(stated, gpus), 1).best.front();
    CHECK(row.outcome.split == sim::split_text(best.spec));
    CHECK(row.setting().at("split") == row.outcome.split);
    sim::Task task;
    task.point = i;
    task.fidelity = sim::Fidelity::analytic;
    CHECK(sim::evaluate(plan, task).iteration_s == Approx(best.iteration.iteration_s).epsilon(1e-12));
    CHECK(row.outcome.global_batch == 64);
  }
  CHECK_THAT(sim::plan_json(result, {}).at("points")[0].at("setting").dump(), Contains("micro-batch"));
}

TEST_CASE("a plan of all splits is never slower than the split that is stated") {
  SmallPlan files;
  leave_split_open(files);
  files.plan["scenario"]["parallel"]["tensor"] = 8;
  files.plan["scenario"]["parallel"]["sequence"] = true;
  const sim::PlanSpec searched = files.load();
  files.plan["split"] = "stated";
  const sim::PlanSpec stated = files.load();
  for (std::size_t point = 0; point < stated.points.size(); ++point) {
    sim::Task task;
    task.point = point;
    task.fidelity = sim::Fidelity::analytic;
    const sim::Outcome as_stated = sim::evaluate(stated, task), best = sim::evaluate(searched, task);
    INFO(as_stated.why << best.why);
    REQUIRE(as_stated.is_ok());
    CHECK(as_stated.split.empty());
    CHECK(best.iteration_s <= as_stated.iteration_s * (1 + 1e-12));
  }
}

TEST_CASE("splits are searched where there is a batch to keep") {
  SmallPlan files;
  files.plan["split"] = "all";
  CHECK_THROWS_WITH(files.load(), Contains("/split: the scenario has no /parallel") && Contains("global_batch"));
}

TEST_CASE("where an iteration of a split goes: the update is that of a stage") {
  SmallPlan files;
  leave_split_open(files);
  files.plan["split"] = "stated";
  files.plan["scenario"]["parallel"] = {{"global_batch", 64}, {"tensor", 4}, {"sequence", true}, {"pipeline", 4}};
  const sim::PlanSpec plan = files.load();
  sim::Task task;
  task.fidelity = sim::Fidelity::analytic;
  task.wants_layers = true;
  const sim::Outcome outcome = sim::evaluate(plan, task);
  INFO(outcome.why);
  REQUIRE(outcome.is_ok());
  double passes_s = 0, update_s = 0;
  for (const sim::LayerGroup& group : outcome.layer_groups) {
    passes_s += group.forward_s + group.backward_s;
    update_s += group.update_s;
  }
  CHECK(passes_s + update_s == Approx(outcome.compute_s));
  const sim::Scenario scenario = sim::scenario_with(plan, plan.points[0].settings).variants.front();
  sim::PointRequest request;
  request.gpus = 16;
  request.fidelity = sim::Fidelity::analytic;
  CHECK(update_s == Approx(predict_point(scenario, request).details.split->update_s));
  // It runs once per iteration, on a sixteenth of the parameters: short compared with 64 sequences' passes through a
  // stage.
  CHECK(update_s < 0.01 * passes_s);
}

}  // namespace lockstep::tests
