// Plan files: their contents, and one line for each kind of error.
#include "sim/plan/plan_spec.hpp"

#include <algorithm>

#include "sim/plan/money.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

std::string error_of(const SmallPlan& plan) {
  try {
    plan.load();
  } catch (const InputError& error) {
    const std::string what = error.what();
    const std::size_t file = what.find("plan.json");
    return file == std::string::npos ? what : what.substr(file);
  }
  return "no error";
}

}  // namespace

TEST_CASE("a grid has every combination once, the last axis fastest") {
  const sim::PlanSpec plan = SmallPlan().load();
  REQUIRE(plan.points.size() == 12);
  CHECK(plan.points[0].id == "p01");
  CHECK(plan.points[11].id == "p12");
  CHECK(plan.points[0].setting == Json::parse(R"({"GPUs": 1, "batch": 16, "network": "slow"})"));
  CHECK(plan.points[1].setting == Json::parse(R"({"GPUs": 1, "batch": 16, "network": "fast"})"));
  CHECK(plan.points[11].setting == Json::parse(R"({"GPUs": 4, "batch": 64, "network": "fast"})"));
  CHECK(plan.points[1].prices.nic_price_per_s == Approx(0.5 / 3600));
  const sim::LoadedScenario loaded = plan.scenario->with(plan.points[11].settings);
  CHECK(loaded.variants[0].gpus == std::vector<int>{4});
  CHECK(loaded.variants[0].batch_at(4) == 64);
  CHECK(loaded.variants[0].cluster.nic.link.bandwidth_bytes_per_s == 12.5e9);
}

TEST_CASE("nodes stand for GPUs, a cluster is set before its parts, and listed points follow the grid") {
  SmallPlan files;
  files.cluster["nodes"] = 8;
  files.plan["axes"] = Json::parse(R"([
    {"name": "network", "pointer": "/cluster/nic/bandwidth", "values": ["1 Gbit/s", "10 Gbit/s"]},
    {"name": "machine", "values": [{"name": "a", "set": {"/cluster": "cluster.json"}}]},
    {"name": "nodes", "pointer": "/nodes", "values": [1, 8]}])");
  files.plan["points"] = Json::parse(R"([{"name": "own", "set": {"/gpus": 2, "/batch_per_gpu": 8}}])");
  const sim::PlanSpec plan = files.load();
  REQUIRE(plan.points.size() == 5);
  const sim::Scenario scenario = plan.scenario->with(plan.points[3].settings).variants[0];
  CHECK(scenario.gpus == std::vector<int>{16});
  CHECK(scenario.cluster.nic.link.bandwidth_bytes_per_s == 1.25e9);
  CHECK(plan.points[4].setting == Json::parse(R"({"point": "own"})"));
  CHECK(plan.scenario->with(plan.points[4].settings).variants[0].batch_at(2) == 8);
}

TEST_CASE("the scenario's GPU counts are an axis where the plan has none; an algorithm brings its objects along") {
  SmallPlan files;
  files.plan["axes"] = Json::parse(R"([{"name": "learners", "values": [
    {"name": "one", "set": {}}, {"name": "two", "set": {"/learners/per_gpu": 2, "/learners/occupancy": {"multiprocessors": 24}, "/algorithm": "sma"}}]}])");
  const sim::PlanSpec plan = files.load();
  REQUIRE(plan.points.size() == 4);
  CHECK(plan.points[0].setting == Json::parse(R"({"learners": "one", "GPUs": 2})"));
  CHECK(plan.scenario->with(plan.points[3].settings).variants[0].learners.per_gpu == 2);
}

TEST_CASE("a plan's digest follows its text and every file that it names") {
  SmallPlan files;
  const std::string digest = files.load().digest;
  CHECK(files.load().digest == digest);
  files.cluster["gpu"]["memory"] = "15 GB";
  const std::string other = files.load().digest;
  CHECK(other != digest);
  files.plan["objective"]["kind"] = "least-time";
  CHECK(files.load().digest != other);
}

TEST_CASE("what is wrong with a plan is said in one line") {
  const auto with = [](const std::string& pointer, const Json& value) {
    SmallPlan files;
    files.plan[Json::json_pointer(pointer)] = value;
    return error_of(files);
  };
  CHECK_THAT(with("/schema", "lockstep/plan/2"), Contains("plan.json: /schema: "));
  CHECK_THAT(with("/horizon", 1), Contains("unknown key \"horizon\""));
  CHECK_THAT(with("/objective/kind", "cheapest"), Contains("/objective/kind: ") && Contains("least-cost-by-deadline"));
  CHECK_THAT(with("/objective/deadline", "1 h"),
             Contains("/objective/deadline: objective \"least-cost\" has no deadline"));
  CHECK_THAT(with("/objective", Json::parse(R"({"kind": "least-cost-by-deadline"})")),
             Contains("missing key \"deadline\""));
  CHECK_THAT(with("/objective", Json::parse(R"({"kind": "least-time-in-budget", "budget": 5})")),
             Contains("/objective/budget: ") && Contains("missing unit"));
  CHECK_THAT(with("/prices/gpu", 3), Contains("/prices/gpu: ") && Contains("USD/h"));
  CHECK_THAT(with("/prices/gpu", "-1 USD/h"), Contains("/prices/gpu: ") && Contains("allowed: 0 to"));
  CHECK_THAT(with("/prices/gpu", "3 FRF/h"), Contains("unit \"FRF/h\" is unknown"));
  CHECK_THAT(with("/prices/gpu", "3 EUR/h"),
             Contains("/axes/2/values/0/prices/nic: USD beside the EUR of /prices/gpu"));
  const std::string work = "/work", samples = work + "/samples";
  CHECK_THAT(with(work, Json::parse(R"({"samples": 5, "epochs": 1})")),
             Contains(work + "/epochs: stands beside samples"));
  CHECK_THAT(with(samples, 0), Contains(samples + ": "));
  CHECK_THAT(with("/limits/global_batch", 64.5), Contains("/limits/global_batch: expected a whole number"));
  CHECK_THAT(with("/limits/memory_per_gpu", "1 s"), Contains("/limits/memory_per_gpu: "));
  CHECK_THAT(with("/axes/0/values", Json::array()), Contains("/axes/0/values: empty list"));
  CHECK_THAT(with("/axes/0/values/1", 1), Contains("/axes/0/values/1: the value \"1\" twice"));
  CHECK_THAT(with("/axes/0/values/1", Json::array({1, 2})), Contains("/axes/0/values/1: no plain value"));
  CHECK_THAT(with("/axes/0/values/1", 2.5), Contains("/axes/0/values/1: "));
  CHECK_THAT(with("/axes/1/name", "GPUs"), Contains("/axes/1/name: another axis has this name"));
  CHECK_THAT(with("/axes/1/name", "point"), Contains("/axes/1/name: "));
  CHECK_THAT(with("/axes/1/pointer", "/nodes"), Contains("/axes/1/pointer: the axis \"GPUs\" sets this place too"));
  CHECK_THAT(with("/axes/1/pointer", "batch"), Contains("is not a place in the scenario"));
  CHECK_THAT(with("/axes/1/pointer", "/fidelity"), Contains("a plan does not vary /fidelity"));
  CHECK_THAT(with("/axes/1/pointer", "/comunication/wire"),
             Contains("/axes/1/values/0: /comunication/wire: no such place"));
  CHECK_THAT(with("/axes/1/values/1", "many"), Contains("/axes/1/values/1: /batch_per_gpu: "));
  CHECK_THAT(with("/axes/2/values/0/set", Json::parse(R"({"/cluster/nic/bandwith": "1 GB/s"})")),
             Contains("unknown key \"bandwith\""));
  CHECK_THAT(with("/axes/2/values/0/prices", Json::parse(R"({"port": "1 USD/h"})")), Contains("unknown key \"port\""));
  CHECK_THAT(with("/scenario/iterations", 0), Contains("plan.json: /scenario/iterations: "));
  CHECK_THAT(with("/refine/refined", "closed-form"), Contains("/refine/refined: "));
  CHECK_THAT(with("/variant", "b"), Contains("none is named \"b\""));
}

TEST_CASE("an axis that says how many GPUs says it in each of its values") {
  SmallPlan files;
  files.plan["axes"] = Json::parse(R"([{"name": "size", "values": [{"name": "one node", "set": {"/nodes": 1}},
                                                                   {"name": "default", "set": {}}]}])");
  // The scenario lists 2 and 4 GPUs.
  CHECK_THAT(error_of(files), Contains("plan.json: /axes/0/values/1: does not say how many GPUs"));
  files.plan["scenario"]["gpus"] = {4};
  const sim::PlanSpec plan = files.load();
  CHECK(sim::scenario_with(plan, plan.points[0].settings).variants[0].gpus == std::vector<int>{2});
  CHECK(sim::scenario_with(plan, plan.points[1].settings).variants[0].gpus == std::vector<int>{4});
}

TEST_CASE("work or a convergence, prices for an objective of money, and points are needed") {
  SmallPlan files;
  files.plan.erase("work");
  CHECK_THAT(error_of(files), Contains("/work: missing, and the scenario has no convergence"));
  SmallPlan empty;
  empty.plan.erase("axes");
  CHECK_THAT(error_of(empty), Contains("no points; allowed: \"axes\""));
  SmallPlan unpriced;
  unpriced.plan.erase("prices");
  CHECK_THAT(error_of(unpriced), Contains("/prices/gpu: missing"));
  unpriced.plan["objective"]["kind"] = "least-time";
  CHECK(error_of(unpriced) == "no error");
  SmallPlan several;
  several.plan["axes"][0]["values"] =
      Json::array({1, 64});  // more than the cluster has: no network makes this possible
  CHECK_THAT(error_of(several), Contains("64 GPUs are more than the cluster has"));
}

// 3 nodes have 8 GPUs each at 2 USD/h, 2 NICs each at 0.5 USD/h, 1 USD/h per node, and 500 W per GPU at 0.1 USD/kWh,
// for 2 hours: 24 x 2 + 6 x 0.5 + 3 x 1 = 54 USD/h, 108 USD; 24 x 500 W x 2 h = 24 kWh, 2.4 USD.
TEST_CASE("a point costs its GPUs, NICs, nodes and energy by the hour") {
  sim::PricesSpec prices;
  prices.gpu_price_per_s = {{"other", "", 9. / 3600}, {"G", "", 2. / 3600}};
  prices.nic_price_per_s = 0.5 / 3600;
  prices.node_price_per_s = 1. / 3600;
  prices.gpu_power_w = {{"", "", 500}};
  prices.energy_price_per_j = 0.1 / 3.6e6;
  sim::Outcome o;
  o.gpu = "G";
  o.gpus = 20;
  o.nodes = 3;
  o.gpus_per_node = 8;
  o.nics = 6;
  o.time_s = 7200;
  o.time_s_low = 7200 * 0.97;
  o.time_s_high = 7200 * 1.03;
  sim::Money money = sim::money_of(prices, {}, o);
  CHECK(money.is_known);
  CHECK(money.cost == Approx(110.4));
  CHECK(money.energy_j == Approx(24 * 3.6e6));
  CHECK(money.high_cost == Approx(110.4 * 1.03));
  prices.uncertainty = 0.04;  // 3 % and 4 % in quadrature: 5 %
  money = sim::money_of(prices, {}, o);
  CHECK(money.low_cost == Approx(110.4 * 0.95));
  CHECK(money.high_cost == Approx(110.4 * 1.05));
  prices.bills_whole_nodes = false;  // 20 GPUs: 46 USD/h and 20 kWh
  CHECK(sim::money_of(prices, {}, o).cost == Approx(92 + 2));
  sim::PriceOverrides own;
  own.gpu_price_per_s = 1. / 3600;  // 20 + 6 USD/h
  CHECK(sim::money_of(prices, own, o).cost == Approx(52 + 2));
  CHECK(sim::money_of(prices, own, o, {2, 1, 1}).cost == Approx(92 + 2));
  o.gpu = "unknown";
  CHECK(!sim::money_of(prices, {}, o).is_known);
  CHECK(sim::money_of(prices, own, o).is_known);
}

// Where servers hold whole tensors, the closed form was up to 31 % low, so 5 % off the frontier excludes no point.
TEST_CASE("points of servers that hold whole tensors are refined as far as their closed form may be off") {
  SmallPlan plan;
  CHECK(plan.load().refine.analytic_error == 0.02);
  plan.plan["scenario"]["algorithm"] = "parameter-server";
  plan.plan["scenario"]["parameter_server"] = {{"scheme", "server"}};
  CHECK(plan.load().refine.analytic_error == 0.02);
  plan.plan["axes"].push_back(
      Json::parse(R"({"name": "sharding", "pointer": "/parameter_server/sharding", "values": ["pairs", "tensors"]})"));
  CHECK(plan.load().refine.analytic_error == 0.31);
  plan.plan["refine"]["analytic_error"] = 0.1;
  CHECK(plan.load().refine.analytic_error == 0.1);
}

// No scenario with the algorithm of the first value has servers.
TEST_CASE("servers that hold whole tensors are found in any combination of values, and not in a name") {
  SmallPlan plan;
  plan.plan["scenario"]["parameter_server"] = {{"scheme", "server"}};
  plan.plan["axes"].push_back(
      Json::parse(R"({"name": "algorithm", "pointer": "/algorithm", "values": ["s-sgd", "parameter-server"]})"));
  plan.plan["axes"].push_back(Json::parse(R"({"name": "servers", "values": [
      {"name": "tensors", "set": {"/parameter_server/sharding": "pairs"}},
      {"name": "pairs", "set": {"/parameter_server/sharding": "pairs", "/parameter_server/streams": 3}}]})"));
  CHECK(plan.load().refine.analytic_error == 0.02);
  plan.plan["axes"].back()["values"][1]["set"]["/parameter_server/sharding"] = "tensors";
  CHECK(plan.load().refine.analytic_error == 0.31);
}

TEST_CASE("a plan whose scenario cannot be read is refused with its own name and the scenario's") {
  SmallPlan plan;
  for (const char* name : {"nowhere.json", ".."}) {
    plan.plan["scenario"] = name;
    CHECK_THAT(error_of(plan), Contains("plan.json: /scenario: cannot read \""));
  }
}

}  // namespace lockstep::tests
