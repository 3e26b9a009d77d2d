// Points read in sequence share equal parts. Each must be the same scenario as when it is read alone.
#include <filesystem>

#include "engine/base/random.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/plan/plan_result.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

// Returns the scenario, or why there is none.
std::string text_of(const std::function<sim::Scenario()>& read) {
  try {
    return sim::to_json(read()).dump();
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string alone(const sim::PlanSpec& plan, std::size_t point) {
  return text_of([&] { return sim::scenario_with(plan, plan.points[point].settings).variants.front(); });
}

std::string in_series(const sim::PlanSpec& plan, std::size_t point, sim::ScenarioSeries& series) {
  return text_of([&] { return sim::scenario_with(plan, plan.points[point].settings, series); });
}

// Returns at most kMost points in order, then random ones, some of them twice in a row.
std::vector<std::size_t> some_points(const sim::PlanSpec& plan) {
  constexpr std::size_t kMost = 40;
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < std::min(kMost, plan.points.size()); ++i) points.push_back(i);
  for (std::uint64_t i = 0; i < kMost; ++i)
    points.push_back(static_cast<std::size_t>(random_uniform(5, i, 0) * static_cast<double>(plan.points.size())));
  return points;
}

// Adds points that set whole objects, their members, and values that affect how others are read.
void set_parts(SmallPlan& files) {
  files.plan["axes"] = Json::parse(R"([
    {"name": "GPUs", "pointer": "/gpus", "values": [1, 4]},
    {"name": "algorithm", "values": [
      {"name": "s-sgd", "set": {}},
      {"name": "servers", "set": {"/algorithm": "parameter-server", "/parameter_server/servers": 2}},
      {"name": "learners", "set": {"/algorithm": "sma", "/learners/per_gpu": 2, "/learners/fill": 0.5}}]},
    {"name": "model", "pointer": "/model", "values": ["resnet50", "alexnet"]},
    {"name": "network", "values": [
      {"name": "slow", "set": {"/cluster/nic/bandwidth": "1 Gbit/s"}},
      {"name": "one node", "set": {"/cluster/nodes": 1}},
      {"name": "hierarchical", "set": {"/communication/all_reduce": "hierarchical"}},
      {"name": "far", "set": {"/cluster/nic/latency": "50 us", "/communication/overlap": false}}]}])");
}

// Adds batches behind every other setting, among them rules, the members of rules, and batches that are refused.
void set_batches(SmallPlan& files) {
  files.plan["axes"] = Json::parse(R"([
    {"name": "GPUs", "pointer": "/gpus", "values": [2, 4]},
    {"name": "batch", "values": [
      {"name": "16", "set": {"/batch_per_gpu": 16}},
      {"name": "few GPUs", "set": {"/batch_per_gpu": [{"up_to_gpus": 2, "batch": 8}]}},
      {"name": "32", "set": {"/batch_per_gpu": 32}},
      {"name": "by GPUs", "set": {"/batch_per_gpu": [{"up_to_gpus": 4, "batch": 8}, {"up_to_gpus": 64, "batch": 4}]}},
      {"name": "rule", "set": {"/batch_per_gpu": [{"up_to_gpus": 4, "batch": 8}], "/batch_per_gpu/0/batch": 2}},
      {"name": "other rule", "set": {"/batch_per_gpu": [{"up_to_gpus": 9, "batch": 8}], "/batch_per_gpu/0/batch": 2}},
      {"name": "64", "set": {"/batch_per_gpu": 64}},
      {"name": "48", "set": {"/batch_per_gpu": 48}}]}])");
}

void check_series(const sim::PlanSpec& plan) {
  sim::ScenarioSeries series(*plan.scenario);
  for (std::size_t point : some_points(plan)) {
    INFO(plan.name << ", " << plan.points[point].setting.dump());
    CHECK(in_series(plan, point, series) == alone(plan, point));
  }
}

}  // namespace

TEST_CASE("law: a point of a series is what it is alone, refused ones included") {
  SmallPlan parts;
  set_parts(parts);
  const sim::PlanSpec of_parts = parts.load();
  int refused = 0;
  for (std::size_t i = 0; i < of_parts.points.size(); ++i) refused += alone(of_parts, i).front() != '{';
  CHECK(refused > 0);
  CHECK(refused < static_cast<int>(of_parts.points.size()));
  check_series(of_parts);
  SmallPlan batches;
  set_batches(batches);
  check_series(batches.load());
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/plans"))
    check_series(sim::load_plan(file.path().string()));
}

TEST_CASE("law: points evaluated in one process have the outcomes of processes of their own") {
  SmallPlan parts;
  set_parts(parts);
  const sim::PlanSpec plan = parts.load();
  sim::ScenarioSeries series(*plan.scenario);
  for (std::size_t point : some_points(plan)) {
    sim::Task task;
    task.point = point;
    task.fidelity = sim::Fidelity::analytic;
    INFO(plan.points[point].setting.dump());
    CHECK(sim::evaluate(plan, task, series).text() == sim::evaluate(plan, task).text());
  }
}

TEST_CASE("a result written point by point is its document") {
  const SmallPlan files;
  const sim::PlanSpec plan = files.load();
  sim::PlanResult result = worked_out(plan);
  result.warnings.push_back("a name of two \n lines,\n  \"points\": null");
  std::string text;
  sim::write_plan_json(result, {"plan"}, 0, [&](const std::string& piece) { text += piece; });
  Json written = Json::parse(text), document = sim::plan_json(result, {"plan"});
  CHECK(text == written.dump(2) + "\n");
  for (Json* json : {&written, &document}) json->erase("provenance");  // it has the time
  CHECK(written.dump() == document.dump());
}

}  // namespace lockstep::tests
