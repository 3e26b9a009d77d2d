// Experts with uneven load, ways to exchange keys and values, and nodes of 72 GPUs.
#include "sim/point/best_splits.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

Json of_experts(const Json& parallel, int gpus) {
  Json scenario = split_scenario(parallel, {gpus});
  scenario["model"] = small_mixture();
  scenario["fidelity"] = "analytic";
  return scenario;
}

double seconds_of(const Json& scenario, const Json& cluster = switched_cluster()) {
  return predicted(SmallFiles(scenario, cluster).one()).mean_iteration_s();
}

double expert_seconds(const Json& more) {
  Json parallel{{"expert", 4}, {"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  parallel.update(more);
  return seconds_of(of_experts(parallel, 8));
}

double expert_memory(const Json& more) {
  Json parallel{{"expert", 4}, {"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  parallel.update(more);
  const sim::Scenario scenario = SmallFiles(of_experts(parallel, 8), switched_cluster()).one();
  return sim::gpu_memory(scenario, 8, 4).activations_bytes;
}

Json with_context(const char* exchange, int tensor = 1) {
  Json scenario = split_scenario(
      {{"context", 4}, {"tensor", tensor}, {"micro_batches", 2}, {"context_exchange", exchange}}, {4 * tensor});
  scenario["fidelity"] = "analytic";
  return scenario;
}

}  // namespace

TEST_CASE("all wait for the busiest expert rank; a capacity bounds what it takes") {
  const double even = expert_seconds(Json::object());
  double before = even;
  for (const double imbalance : {1.1, 1.5, 3.0}) {
    const double uneven = expert_seconds({{"expert_imbalance", imbalance}});
    CHECK(uneven > before);
    CHECK(uneven < even * imbalance);  // the rest of the model stays even
    CHECK(expert_memory({{"expert_imbalance", imbalance}}) > expert_memory(Json::object()));
    before = uneven;
  }
  CHECK(expert_seconds({{"expert_capacity", 1.5}}) == expert_seconds({{"expert_imbalance", 1.5}}));
  CHECK(expert_seconds({{"expert_capacity", 0.5}}) < even);
  // With one rank that has all experts, only a capacity has an effect.
  const auto alone = [](const Json& more) {
    Json parallel{{"micro_batches", 2}, {"sharding", "zero1"}};
    parallel.update(more);
    return seconds_of(of_experts(parallel, 8));
  };
  CHECK(alone({{"expert_capacity", 2}}) > alone(Json::object()));
}

TEST_CASE("an imbalance beside a capacity, or of one rank with all experts, is refused") {
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_imbalance", 2}, {"expert_capacity", 1.25}});
             }),
             Contains("/parallel/expert_imbalance") && Contains("a capacity bounds"));
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_imbalance", 2}, {"expert", 1}});
             }),
             Contains("one rank has all experts"));
  CHECK_THAT(error_of([] { expert_seconds({{"expert_imbalance", 0.5}}); }), Contains("1 to 1000"));
}

TEST_CASE("experts' exchange beside passes costs what is longer than they; closed form and messages agree") {
  const double behind = expert_seconds(Json::object());
  const double beside = expert_seconds({{"expert_overlap", true}, {"expert_overlap_share", 0}});
  CHECK(beside < behind);
  // Over links without limits, only the passes take time.
  Json links = switched_cluster();
  links["intra_node"]["gpu_link"]["bandwidth"] = "100000 GB/s";
  Json parallel{{"expert", 4}, {"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  CHECK(beside == Approx(seconds_of(of_experts(parallel, 8), links)).epsilon(1e-3));  // all of it is hidden
  for (const bool overlap : {false, true}) {
    parallel["expert_overlap"] = overlap;
    Json scenario = of_experts(parallel, 8);
    const double closed_s = seconds_of(scenario);
    scenario["fidelity"] = "fast";
    CHECK(seconds_of(scenario) == Approx(closed_s).epsilon(0.05));
  }
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_overlap", true}, {"expert", 1}});
             }),
             Contains("/parallel/expert_overlap") && Contains("one rank has all experts"));
}

TEST_CASE("an exchange beside passes holds multiprocessors, for a share of its time and never longer than it takes") {
  const auto with_share = [](double share) {
    return expert_seconds({{"expert_overlap", true}, {"expert_overlap_share", share}});
  };
  const double behind = expert_seconds(Json::object()), hidden = with_share(0);
  double before = hidden;
  for (const double share : {0.1, 0.3, 0.6}) {
    const double slowed = with_share(share);
    CHECK(slowed > before);
    CHECK(slowed < behind);
    before = slowed;
  }
  // All of it is hidden, so each share adds the same amount.
  CHECK(with_share(0.2) - hidden == Approx(2 * (with_share(0.1) - hidden)).epsilon(1e-6));
}

TEST_CASE("tokens dispatched once take no longer than a copy for each expert; closed form and messages agree") {
  Json parallel{{"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}};
  for (const int expert : {2, 4, 8}) {
    double before = 0;
    for (const char* dispatch : {"hybridep", "all-to-all"}) {
      parallel["expert"] = expert;
      parallel["expert_dispatch"] = dispatch;
      Json scenario = of_experts(parallel, 8);
      INFO(expert << " ranks, " << dispatch);
      const double closed_s = seconds_of(scenario);
      CHECK(closed_s > before);
      before = closed_s;
      scenario["fidelity"] = "fast";
      CHECK(seconds_of(scenario) == Approx(closed_s).epsilon(0.05));
    }
  }
  // Groups of six lie on one node and a half, and cross the NICs once for each other node, not for each rank.
  Json uneven{{"micro_batches", 2}, {"micro_batch", 4}, {"sequence", true}, {"expert", 6}};
  double uneven_s[2] = {};
  for (int i = 0; i < 2; ++i) {
    uneven["expert_dispatch"] = i == 0 ? "hybridep" : "all-to-all";
    Json scenario = of_experts(uneven, 12);
    scenario["model"]["config"]["num_local_experts"] = 12;
    uneven_s[i] = seconds_of(scenario);
    if (i > 0) continue;
    scenario["fidelity"] = "fast";
    CHECK(seconds_of(scenario) == Approx(uneven_s[i]).epsilon(0.3));
  }
  CHECK(uneven_s[0] < uneven_s[1]);
  CHECK_THAT(error_of([] {
               expert_seconds({{"expert_dispatch", "deepep"}, {"expert", 1}});
             }),
             Contains("/parallel/expert_dispatch") && Contains("one rank has all experts"));
}

TEST_CASE("whole experts on tensor ranks: no gathered rows, as many products, closed form and messages agree") {
  Json parallel{{"tensor", 2},      {"expert", 4},      {"micro_batches", 2},
                {"micro_batch", 4}, {"sequence", true}, {"expert_tensor", 1}};
  // Neither has copies of experts: eight whole ones on as many ranks, halves of two on pairs.
  parallel["expert"] = 8;
  const Json whole = of_experts(parallel, 8);
  parallel.erase("expert_tensor");
  parallel["expert"] = 4;
  CHECK(seconds_of(whole) < seconds_of(of_experts(parallel, 8)));
  Json fast = whole;
  fast["fidelity"] = "fast";
  CHECK(seconds_of(fast) == Approx(seconds_of(whole)).epsilon(0.05));
}

TEST_CASE("by flows, copies of experts add up their gradients however few replicas tell of all") {
  for (const Json& parallel : {Json{{"expert", 8}}, Json{{"expert", 4}, {"tensor", 2}, {"sequence", true}},
                               Json{{"expert", 4}, {"context", 2}}}) {
    Json all = parallel;
    all.update({{"micro_batches", 2}, {"micro_batch", 2}});
    const sim::Scenario scenario = SmallFiles(of_experts(all, 64), switched_cluster()).one();
    std::vector<sim::PointJob> jobs;
    for (const sim::Fidelity fidelity : {sim::Fidelity::fast, sim::Fidelity::message}) {
      sim::PointRequest request;
      request.gpus = 64;
      request.fidelity = fidelity;
      jobs.push_back({&scenario, request});
    }
    const std::vector<sim::PointResult> points = sim::predict_points(jobs, 2);
    CHECK(points[0].mean_iteration_s() == Approx(points[1].mean_iteration_s()).epsilon(1e-9));
  }
}

TEST_CASE("experts' gradients are added up in each micro-batch, so that more of them take longer than their sum") {
  const auto iteration_s = [](int micro_batches, int micro_batch) {
    return seconds_of(of_experts({{"expert", 8}, {"micro_batches", micro_batches}, {"micro_batch", micro_batch}}, 8));
  };
  // As many tokens; at four times the micro-batches a fourth of an expert's rows come at a time.
  CHECK(iteration_s(4, 1) > iteration_s(1, 4));
}

TEST_CASE("keys and values beside the attention cost no more than gathered before it; heads for tokens need heads") {
  CHECK(seconds_of(with_context("ring")) <= seconds_of(with_context("all-gather")));
  // A fourth of queries, keys, values and outputs stays where it is; a ring passes three times keys and values on.
  CHECK(seconds_of(with_context("all-to-all")) > 0);
  CHECK_THAT(error_of([] { seconds_of(with_context("all-to-all", 4)); }), Contains("heads"));
  for (const char* exchange : {"ring", "all-gather", "all-to-all"}) {
    Json scenario = with_context(exchange);
    const double closed_s = seconds_of(scenario);
    scenario["fidelity"] = "fast";
    CHECK(seconds_of(scenario) == Approx(closed_s).epsilon(0.05));
  }
}

TEST_CASE("racks of 72 GPUs: a tensor group, and a replica of 72, lie on NVLink") {
  for (const std::string name : {"gb200_nvl72", "gb300_nvl72"}) {
    Json scenario = split_scenario({{"tensor", 8}, {"sequence", true}, {"pipeline", 9}, {"global_batch", 64}}, {144});
    scenario["cluster"] = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/" + name + ".json";
    scenario["model"]["config"]["num_hidden_layers"] = 9;
    scenario["fidelity"] = "analytic";
    scenario["compute"]["precision"] = "mixed";
    const double within_s = seconds_of(scenario);
    // A replica does not wait for the network between racks, which only gradients cross.
    scenario["parallel"]["global_batch"] = 128;
    const double more_s = seconds_of(scenario);
    CHECK(more_s > within_s);
    CHECK(more_s < 2 * within_s);
  }
}

}  // namespace lockstep::tests
