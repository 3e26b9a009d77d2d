// Learners that share a GPU while a collective slows their kernels.
#include "engine/base/index.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/point/point.hpp"
#include "sim/schedule/sma.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

// Learning takes 10 ms, local synchronisation 2 ms, aggregation 1 ms, the average model 3 ms; each fills little of the
// GPU. The all-reduce of 39.92 MB over two GPUs has 1 ms of launch and takes 2 x (2 us + 19.96 MB / 40 GB/s) = 1.002
// ms.
SmaCost cost_with(double learning_s, double fill) {
  SmaCost cost;
  cost.learning = {{"learn", learning_s, fill}};
  cost.local = {2e-3, 0.1};
  cost.update = {1e-3, 0.1};
  cost.aggregate = {1e-3, 0.1};
  cost.average = {3e-3, 0.1};
  cost.wire_bytes = 39'920'000;
  return cost;
}

SmaOptions two_gpus(int learners, bool overlap = true) {
  SmaOptions options;
  options.gpus = 2;
  options.learners = learners;
  options.iterations = 9;
  options.overlap = overlap;
  options.launch_s = 1e-3;
  return options;
}

struct Period {
  double iteration_s;
  double slowed_s;  // of all learners of a GPU
};

// The times of the last iteration.
Period period_of(const std::string& method, const SmaCost& cost, const SmaOptions& options, double slows) {
  const std::vector<double> found = in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(1, options.gpus), options.gpus);
    Program program = sma(cost, options, ring_all_reduce);
    for (Work& work : program.work)
      if (work.kind == Work::Kind::collective) work.slows = slows;
    const Jitter even = [](int, int) { return 1.0; };
    const Replay replay = method == "closed form"  ? replay_analytic(program, cluster, 1)
                          : method == "fair flows" ? replay_flows(program, cluster, even)
                                                   : replay_messages(program, cluster, even);
    const std::vector<double>& ends = replay.iteration_end_s;
    return std::vector<double>{ends.back() - ends[ends.size() - 2], replay.slowed_s[replay.slowed_s.size() - 2]};
  });
  return {found[0], found[1]};
}

Json learners_scenario(double fill, int learners) {
  Json scenario = tests::even_scenario();
  scenario["algorithm"] = "sma";
  scenario["learners"] = {{"fill", fill}, {"per_gpu", learners}};
  return scenario;
}

PointResult predict(const Json& scenario, const std::string& fidelity, const tests::Settings& settings, int gpus = 2) {
  const Scenario s = tests::SmallFiles(scenario, tests::even_cluster()).one(settings);
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = 16;
  request.fidelity = choice_named<Fidelity>(fidelity, "fidelity");
  request.iterations = 4;
  return predict_points({{&s, request}}, 1).at(0);
}

const std::vector<std::string> kSlowdownMethods{"messages", "fair flows", "closed form"};

}  // namespace

TEST_CASE("learners by hand: two that do not fill the GPU, beside an all-reduce that halves their speed") {
  // Local synchronisation takes 2 ms, then learning takes 10 ms. Overlapped with it are 1 ms of aggregation, 1 ms of
  // launch, and 1.002 ms in flight, in which each learner does only 0.501 ms of work: 2 + 10 + 0.501 ms. Each loses
  // 0.501 ms.
  for (const std::string& method : kSlowdownMethods) {
    INFO(method);
    const Period period = period_of(method, cost_with(10e-3, 0.4), two_gpus(2), 2);
    CHECK(period.iteration_s == Approx(12.501e-3).epsilon(1e-7));
    CHECK(period.slowed_s == Approx(2 * 0.501e-3).epsilon(1e-6));
    CHECK(period_of(method, cost_with(10e-3, 0.4), two_gpus(2), 1).iteration_s == Approx(12e-3).epsilon(1e-7));
  }
}

TEST_CASE("learners by hand: two that fill more than the GPU, beside an all-reduce that halves their speed") {
  // Each fills 0.8: 16 ms for both. Aggregation and average model take 0.1 of the GPU for 4 ms from them, 0.4 ms; in
  // the 1.002 ms in flight both together get half of the GPU done: 2 + 16 + 0.4 + 0.501 ms.
  for (const std::string method : {"messages", "fair flows"}) {
    INFO(method);
    const Period period = period_of(method, cost_with(10e-3, 0.8), two_gpus(2), 2);
    CHECK(period.iteration_s == Approx(18.901e-3).epsilon(1e-7));
    CHECK(period.slowed_s == Approx(2 * 0.501e-3).epsilon(1e-6));
  }
  CHECK(period_of("closed form", cost_with(10e-3, 0.8), two_gpus(2), 2).iteration_s == Approx(18.901e-3).epsilon(0.05));
}

TEST_CASE("learners by hand: learning that ends when the collective does, or within it") {
  // The collective is in flight from 2 to 3.002 ms after local synchronisation has ended. Learning of 2.501 ms ends
  // with it: 2 ms before and 0.501 ms during it. Then the next local synchronisation waits for the average model, 3 ms:
  // 2 + 3.002 + 3 ms.
  for (const std::string method : {"messages", "fair flows"}) {
    INFO(method);
    const Period at_end = period_of(method, cost_with(2.501e-3, 0.4), two_gpus(2), 2);
    CHECK(at_end.iteration_s == Approx(8.002e-3).epsilon(1e-7));
    CHECK(at_end.slowed_s == Approx(2 * 0.501e-3).epsilon(1e-6));
    // 2.2 ms: 0.2 ms of it in flight take 0.4 ms.
    const Period within = period_of(method, cost_with(2.2e-3, 0.4), two_gpus(2), 2);
    CHECK(within.iteration_s == Approx(8.002e-3).epsilon(1e-7));
    CHECK(within.slowed_s == Approx(2 * 0.2e-3).epsilon(1e-6));
  }
}

TEST_CASE("without overlap, by the host or on one GPU nothing of learners is slowed") {
  for (const std::string& method : kSlowdownMethods) {
    INFO(method);
    const auto same = [&](const SmaOptions& options) {
      const Period slowed = period_of(method, cost_with(10e-3, 0.4), options, 3);
      CHECK(slowed.iteration_s ==
            Approx(period_of(method, cost_with(10e-3, 0.4), options, 1).iteration_s).epsilon(1e-9));
      CHECK(slowed.slowed_s == Approx(0).margin(1e-12));
    };
    same(two_gpus(2, false));
    SmaOptions alone = two_gpus(2);
    alone.gpus = 1;
    same(alone);
  }
  Json by_host = learners_scenario(0.4, 2);
  by_host["learners"].update({{"synchronised_by", "host"}, {"host_wait", "10 us"}});
  for (const std::string fidelity : {"message", "fast", "analytic"})
    CHECK(predict(by_host, fidelity, {{"/compute/overlap_slowdown", "3"}}).mean_iteration_s() ==
          Approx(predict(by_host, fidelity, {}).mean_iteration_s()).epsilon(1e-9));
}

TEST_CASE("law: an all-reduce beside learners costs something, but no more than if all compute were slowed") {
  for (const std::string algorithm : {"sma", "ea-sgd"})
    for (const double fill : {0.3, 1.0})
      for (const int learners : {1, 4}) {
        Json scenario = learners_scenario(fill, learners);
        scenario["algorithm"] = algorithm;
        INFO(algorithm << ", " << learners << " learners of " << fill);
        std::map<std::string, double> slowed_s;
        for (const std::string fidelity : {"message", "fast", "analytic"}) {
          INFO(fidelity);
          const PointResult without = predict(scenario, fidelity, {});
          const PointResult slowed = predict(scenario, fidelity, {{"/compute/overlap_slowdown", "1.5"}});
          slowed_s[fidelity] = slowed.mean_iteration_s();
          CHECK(slowed.mean_iteration_s() > without.mean_iteration_s());
          CHECK(slowed.mean_iteration_s() < 1.5 * without.mean_iteration_s());
          const double lost_s = slowed.details.compute_slowed_by_collectives_s.value();
          CHECK(lost_s > 0);
          CHECK(slowed.compute_s == Approx(without.compute_s + lost_s).epsilon(1e-9));
          CHECK(slowed.mean_iteration_s() >= without.mean_iteration_s() + 0.9 * lost_s);
          CHECK(predict(scenario, fidelity, {{"/compute/overlap_slowdown", "1"}}).mean_iteration_s() ==
                without.mean_iteration_s());
        }
        CHECK(slowed_s["fast"] == Approx(slowed_s["message"]).epsilon(1e-6));
        CHECK(slowed_s["analytic"] == Approx(slowed_s["message"]).epsilon(0.05));
      }
}
