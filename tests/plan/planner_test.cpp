// Plans on small clusters: compared with brute force, and with processes that die.
#include "sim/plan/planner.hpp"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/plan/grid.hpp"
#include "sim/plan/plan_result.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

std::set<std::string> ids(const sim::PlanResult& result, const std::vector<std::size_t>& rows) {
  std::set<std::string> all;
  for (std::size_t row : rows) all.insert(result.rows[row].point->id);
  return all;
}

Json without_provenance(const sim::PlanResult& result) {
  Json json = sim::plan_json(result, {});
  json.erase("provenance");
  return json;
}

}  // namespace

TEST_CASE("the refined frontier and the answer are those of every point by messages") {
  for (const char* objective : {R"({"kind": "least-cost"})", R"({"kind": "least-time"})",
                                R"({"kind": "least-cost-by-deadline", "deadline": "8 min"})",
                                R"({"kind": "least-time-in-budget", "budget": "0.4 USD"})"}) {
    INFO(objective);
    SmallPlan files;
    files.plan["objective"] = Json::parse(objective);
    files.plan["scenario"]["compute"]["jitter"] =
        Json::parse(R"({"distribution": "lognormal", "coefficient_of_variation": 0.05})");
    const sim::PlanSpec plan = files.load();
    files.plan["refine"] = {{"coarse", "message"}, {"refined", "message"}};
    const sim::PlanSpec brute = files.load();
    const sim::PlanResult refined = worked_out(plan), all = worked_out(brute);
    CHECK(ids(refined, refined.frontier) == ids(all, all.frontier));
    REQUIRE(refined.recommended);
    CHECK(refined.recommended == all.recommended);
    CHECK(refined.runner_up == all.runner_up);
    for (const sim::PlanRow& row : all.rows) CHECK(row.outcome.fidelity == sim::Fidelity::message);
    for (std::size_t i : refined.frontier) {
      const sim::Outcome &o = refined.rows[i].outcome, &exact = all.rows[i].outcome;
      CHECK(o.fidelity != sim::Fidelity::analytic);
      CHECK(o.time_s == Approx(exact.time_s).epsilon(1e-3));
      CHECK(refined.rows[i].money.low_cost <= all.rows[i].money.cost);
      CHECK(refined.rows[i].money.high_cost >= all.rows[i].money.cost);
    }
  }
}

TEST_CASE("a point says what it takes: works, refused for memory, batch or size, with the reason") {
  SmallPlan files;
  files.plan["axes"][1]["values"] = Json::array({16, 100000});
  files.plan["axes"][0]["values"] = Json::array({1, 4, 8});
  files.plan["limits"]["global_batch"] = 32;
  files.plan["points"] = Json::parse(R"([{"name": "more nodes", "set": {"/cluster/nodes": 4, "/gpus": 8}}])");
  files.cluster["nodes"] = 2;
  SmallPlan unreadable;  // no point of a value can be read: the plan is wrong
  unreadable.plan["axes"][0]["values"] = Json::array({1, 8});
  CHECK_THROWS_AS(unreadable.load(), InputError);
  files.plan["axes"][0]["values"] = Json::array({1, 4});
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  REQUIRE(result.rows.size() == 9);
  int ok = 0;
  for (const sim::PlanRow& row : result.rows) {
    INFO(row.point->setting.dump() << row.outcome.why);
    const bool is_large = row.point->setting.value("batch", 16) == 100000;
    if (is_large)
      CHECK_THAT(row.outcome.why, Contains("memory: batch 100000 needs") && Contains("allowed: a batch of at most "));
    if (!is_large && row.outcome.gpus > 2) CHECK_THAT(row.outcome.why, Contains("global batch "));
    CHECK(row.outcome.status == (is_large || row.outcome.gpus > 2 ? "refused" : "ok"));
    ok += row.outcome.is_ok();
  }
  CHECK(ok == 2);
  const Json json = sim::plan_json(result, {});
  CHECK(json["points"][8]["status"] == "refused");
  CHECK(json["points"][8]["time_s"].is_null());
  CHECK(json["points"][8]["why"].get<std::string>().size() > 10);
}

TEST_CASE("a point that does not fit is off the frontier, unless memory is ignored") {
  SmallPlan files;
  files.plan["axes"][1]["values"] = Json::array({16, 100000});
  files.plan["objective"]["kind"] = "least-time";
  const sim::PlanSpec plan = files.load();
  const Json json = sim::plan_json(worked_out(plan), {});
  for (const Json& point : json["points"]) {
    const bool fits = point["setting"]["batch"] == 16;
    CHECK(point["status"] == (fits ? "ok" : "refused"));
    CHECK((point["memory"]["bytes"] <= point["memory"]["capacity_bytes"]) == fits);
    CHECK(point["memory"]["parts"]["reserved"] == 1e9);  // as the plan's limits have it
    CHECK(point["memory_bytes_per_gpu"] == point["memory"]["bytes"]);
    if (!fits) CHECK(point["on_frontier"] == false);
  }
  const sim::PlanSpec ignoring = sim::load_plan(files.write(), true);
  CHECK(ignoring.digest != plan.digest);
  for (const sim::PlanRow& row : worked_out(ignoring).rows) CHECK(row.outcome.status == "ok");
}

TEST_CASE("the document has all that its readers count on") {
  SmallPlan files;
  files.plan["prices"]["gpu_power"] = "300 W";
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  const Json json = sim::plan_json(result, {"plan"});
  CHECK(json["schema"] == "lockstep/plan-result/1");
  CHECK(json["provenance"]["inputs"].size() >= 2);
  const std::string best = json["answer"]["recommended"];
  CHECK(json["answer"]["runner_up"].is_string());
  CHECK_THAT(json["answer"]["text"].get<std::string>(), Contains(best));
  CHECK(json["scaling"].size() == 3);
  CHECK(json["scaling"][0]["scaling_efficiency"].get<double>() > 0);
  double parts_s = 0, layers_s = 0, compute_s = 0;
  int layers = 0;
  for (const Json& part : json["breakdown"]["parts"]) {
    parts_s += part["seconds"].get<double>();
    if (part["name"] == "forward" || part["name"] == "backward" || part["name"] == "update")
      compute_s += part["seconds"].get<double>();
  }
  for (const Json& g : json["breakdown"]["layer_groups"]) {
    layers_s += g["forward_s"].get<double>() + g["backward_s"].get<double>() + g["update_s"].get<double>();
    CHECK(g["layers"] > 0);
    layers += g["layers"].get<int>();
  }
  CHECK(layers_s == Approx(compute_s));
  CHECK(layers > static_cast<int>(json["breakdown"]["layer_groups"].size()));  // a group says of how many it is
  for (const Json& point : json["points"]) {
    CHECK(point["time_s_low"] <= point["time_s"]);
    CHECK(point["cost_usd_high"] >= point["cost_usd"]);
    CHECK(point["energy_j"].get<double>() > 0);
    CHECK(point["scaling_efficiency"].get<double>() > 0);
    if (point["id"] == best) CHECK(parts_s == Approx(point["iteration_s"].get<double>()));
  }
  // Changes of inputs change the time in the right direction. Changes of prices do not change it.
  for (const Json& row : json["sensitivity"]) {
    const std::string what = row["what"];
    INFO(what);
    if (what == "GPU 20 % faster") CHECK(row["time_change"].get<double>() < -0.1);
    if (what.find("halved") != std::string::npos) CHECK(row["time_change"].get<double>() >= -1e-9);
    if (what == "GPU-hours 25 % dearer") CHECK(row["time_change"] == 0);
  }
  CHECK(json["assumptions"].size() > 10);
  CHECK(sim::plan_csv(result).find("id,setting/GPUs,setting/batch,setting/network,") == 0);
  CHECK_THAT(sim::plan_csv(result), Contains(",tokens_per_s,tokens_per_s_low,tokens_per_s_high,mfu,mfu_low,mfu_high,"));
  CHECK_THAT(sim::plan_markdown(result), Contains("| " + best + " |"));
}

TEST_CASE("GPUs that cost twice as much make the cheapest point cost twice as much, and no faster") {
  SmallPlan files;
  const sim::PlanSpec cheap = files.load();
  files.plan["prices"]["gpu"] = "2 USD/h";
  files.plan["axes"][2]["values"][0]["prices"]["nic"] = "0.02 USD/h";
  files.plan["axes"][2]["values"][1]["prices"]["nic"] = "1 USD/h";
  const sim::PlanSpec dear = files.load();
  const sim::PlanResult a = worked_out(cheap), b = worked_out(dear);
  CHECK(a.recommended == b.recommended);
  CHECK(b.rows[*b.recommended].money.cost == Approx(2 * a.rows[*a.recommended].money.cost));
  CHECK(b.rows[*b.recommended].outcome.time_s == a.rows[*a.recommended].outcome.time_s);
}

TEST_CASE("one process or four, and processes that die once, give the same document") {
  SmallPlan files;
  const sim::PlanSpec plan = files.load();
  const Json expected = without_provenance(worked_out(plan, 1));
  CHECK(without_provenance(worked_out(plan, 4)) == expected);
  const sim::RunTask runner = sim::plan_runner(plan);
  const auto dies_once = [&](const std::string& text, bool is_first, std::string& outcome) {
    const sim::Task task = sim::Task::from_bytes(text);
    const std::string mark = files.folder.path("died" + std::to_string(task.point) + name_of(task.fidelity));
    if (task.point % 3 == 1 && !std::filesystem::exists(mark)) {
      files.folder.write(std::filesystem::path(mark).filename().string(), "");
      raise(SIGKILL);
    }
    return runner(text, is_first, outcome);
  };
  CHECK(without_provenance(worked_out(plan, 2, dies_once)) == expected);
  CHECK(std::filesystem::exists(files.folder.path("died1analytic")));
}

TEST_CASE("what is watched grows by a point at a time, and is right of what it knows") {
  const SmallPlan files;
  const sim::PlanSpec plan = files.load();
  const auto workers = sim::local_workers(1, sim::plan_runner(plan));
  sim::Journal journal;
  sim::Evaluation evaluation(plan, *workers, journal);
  std::vector<Json> seen;
  const sim::PlanWatch watch{[] { return true; },
                             [&](const sim::PlanResult& so_far) { seen.push_back(sim::plan_json(so_far, {})); }};
  Json last = sim::plan_json(sim::work_out(plan, evaluation, watch), {}),
       unwatched = sim::plan_json(worked_out(plan), {});
  for (Json* document : {&last, &unwatched}) document->erase("provenance");
  REQUIRE(seen.size() >= plan.points.size());
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    CHECK(seen[i].at("so_far").at("waiting") == plan.points.size() - 1 - i);
  const Json& whole = seen[plan.points.size() - 1];
  for (const Json& so_far : seen) {
    CHECK_FALSE(so_far.at("frontier").empty());
    for (std::size_t i = 0; i < plan.points.size(); ++i)
      if (so_far.at("points").at(i).at("status") == "ok" && so_far.at("so_far").at("waiting") > 0)
        CHECK(so_far.at("points").at(i).at("time_s") == whole.at("points").at(i).at("time_s"));
  }
  CHECK(last.count("so_far") == 0);
  CHECK(last == unwatched);
}

TEST_CASE("a point whose process always dies has failed, and the others go on") {
  SmallPlan files;
  const sim::PlanSpec plan = files.load();
  const sim::RunTask runner = sim::plan_runner(plan);
  const sim::PlanResult result = worked_out(plan, 2, [&](const std::string& text, bool is_first, std::string& outcome) {
    if (sim::Task::from_bytes(text).point == 4 && sim::Task::from_bytes(text).gpus == 0) raise(SIGKILL);
    return runner(text, is_first, outcome);
  });
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    CHECK(result.rows[i].outcome.status == (i == 4 ? "failed" : "ok"));
  CHECK_THAT(result.rows[4].outcome.why, Contains("signal 9"));
  REQUIRE(result.recommended);
  CHECK(*result.recommended != 4);
}

TEST_CASE("the fastest of points of which some have no price: an unknown cost is told, and is not a cost of nothing") {
  SmallPlan files;
  files.plan["objective"] = Json::parse(R"({"kind": "least-time"})");
  files.plan["axes"][2]["values"][0]["set"]["/cluster/name"] = "without a price";
  files.plan["prices"]["gpu"] = Json::parse(R"([{"cluster": "two nodes", "price": "1 USD/h"}])");
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  CHECK(result.frontier.size() > 1);
  for (std::size_t i : result.frontier) CHECK(result.rows[i].money.is_known);
  REQUIRE(result.recommended);
  CHECK(result.rows[*result.recommended].money.is_known);
  CHECK_THAT(sim::plan_table(result), !Contains(" 0.00 USD") && !Contains("-100.0 % cost"));
  const Json json = sim::plan_json(result, {});
  for (const Json& point : json["points"])
    CHECK(point["cost_usd"].is_null() == (point["cluster"] == "without a price"));
}

TEST_CASE("a point that stays in closed form is warned of, whatever was asked for first") {
  SmallPlan files;
  // Both GPUs of a node send over its one NIC at a time: flows that share a link.
  files.plan["scenario"]["communication"] = Json::parse(R"({"all_reduce": "halving-doubling"})");
  files.plan["axes"][0]["values"] = Json::array({4});
  files.plan["refine"] = {{"coarse", "fast"}, {"most_messages", 10}};
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  bool is_told = false;
  for (const std::string& line : result.warnings) is_told = is_told || line.find("stays analytic") != std::string::npos;
  for (const sim::PlanRow& row : result.rows) CHECK(row.outcome.fidelity == sim::Fidelity::analytic);
  CHECK(is_told);
}

TEST_CASE("no point that meets a deadline: the closest is told, nothing is recommended") {
  SmallPlan files;
  files.plan["objective"] = Json::parse(R"({"kind": "least-cost-by-deadline", "deadline": "1 s"})");
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  CHECK(!result.recommended);
  REQUIRE(result.closest);
  for (const sim::PlanRow& row : result.rows) CHECK(row.outcome.time_s >= result.rows[*result.closest].outcome.time_s);
  CHECK_THAT(sim::plan_table(result), Contains("No point meets the objective"));
  CHECK(sim::plan_json(result, {})["answer"]["recommended"].is_null());
}

TEST_CASE("rates and profiles that a point reaches beyond are warned of") {
  SmallPlan files;
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  for (const sim::PlanRow& row : result.rows) {
    const bool is_beyond = row.point->setting["batch"] == 64;
    CHECK(row.outcome.warnings.size() == (is_beyond ? 1 : 0));
    if (is_beyond) CHECK_THAT(row.outcome.warnings[0], Contains("batch 64 is outside the rates' 16"));
  }
}

TEST_CASE("every committed plan loads, is sourced, and gives an answer at small scale") {
  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/plans")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    sim::PlanSpec plan = sim::load_plan(entry.path().string());
    for (const Assumption& a : plan.assumptions) {
      INFO(a.pointer << ": " << a.source);
      CHECK(a.source.rfind("given in", 0) != 0);
      CHECK(a.source.size() >= 10);
    }
    // The first and the last value of each axis; few iterations.
    for (sim::Axis& axis : plan.axes) {
      const sim::AxisValue last = axis.values.back();
      axis.values.resize(1);
      if (last.name != axis.values[0].name) axis.values.push_back(last);
      for (sim::AxisValue& value : axis.values) value.settings.push_back({"/iterations", "2", "test", ""});
    }
    plan.axes[0].values.resize(1);
    plan.refine.most_messages = plan.refine.most_messages_around = 2e5;
    plan.points = sim::grid_points(plan);
    const sim::PlanResult result = worked_out(plan);
    REQUIRE(result.focus());
    for (const sim::PlanRow& row : result.rows) {
      INFO(row.point->setting.dump() << " " << row.outcome.why);
      CHECK(row.outcome.status != "failed");
    }
    for (const Assumption& a : result.assumptions) {
      INFO(a.pointer << ": " << a.source);
      CHECK(a.source.rfind("given in", 0) != 0);
    }
    CHECK(sim::plan_table(result).find("nan") == std::string::npos);
    ++plans;
  }
  CHECK(plans >= 5);
}

}  // namespace lockstep::tests
