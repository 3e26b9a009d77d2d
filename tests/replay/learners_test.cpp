// Learners on shared GPUs: cases by hand, bounds, scheduling under jitter, consistency of the average model. Points of
// scenarios and the auto-tuner are in learners_point_test.cpp.
#include "sim/program/learners.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using tests::in_child;

namespace {

// L = 10 ms of learning at a fill of 0.4, l = 2 ms, aggregation 1 ms, average 3 ms, plain update 1 ms. Two learners and
// the synchronisation stream together fill at most 0.9 of the GPU, so none slows the others.
SmaCost light_cost() {
  SmaCost cost;
  cost.learning = {{"learn", 10e-3, 0.4}};
  cost.local = {2e-3, 0.1};
  cost.update = {1e-3, 0.1};
  cost.aggregate = {1e-3, 0.1};
  cost.average = {3e-3, 0.1};
  cost.wire_bytes = 40'000'000;
  return cost;
}

SmaOptions options(int gpus, int learners, int tau = 1) {
  SmaOptions o;
  o.gpus = gpus;
  o.learners = learners;
  o.tau = tau;
  o.iterations = 13;
  return o;
}

double no_jitter(int, int) {
  return 1;
}

// Ends of the iterations.
std::vector<double> ends(const SmaCost& cost, const SmaOptions& o, const Jitter& jitter = no_jitter) {
  return in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(1, o.gpus), o.gpus);
    return replay_messages(sma(cost, o, ring_all_reduce), cluster, jitter).iteration_end_s;
  });
}

// Mean of the last `round` iterations.
double period_s(const SmaCost& cost, const SmaOptions& o, int round = 1) {
  const std::vector<double> e = ends(cost, o);
  return (e.back() - e[e.size() - 1 - to_index(round)]) / round;
}

}  // namespace

TEST_CASE("learners by hand: one GPU, two learners that do not fill it") {
  // Synchronisation G = 1 + 3 ms hides behind the next learning of 10 ms: l + max(L, G) = 2 + 10 = 12 ms.
  CHECK(period_s(light_cost(), options(1, 2)) == Approx(12e-3).epsilon(1e-9));
  // An average model of 14 ms does not: 2 + (1 + 14) = 17 ms.
  SmaCost slow = light_cost();
  slow.average.seconds = 14e-3;
  CHECK(period_s(slow, options(1, 2)) == Approx(17e-3).epsilon(1e-9));
  // Without overlap: L + l + G = 10 + 2 + 4 = 16 ms.
  SmaOptions strict = options(1, 2);
  strict.overlap = false;
  CHECK(period_s(light_cost(), strict) == Approx(16e-3).epsilon(1e-9));
}

TEST_CASE("learners by hand: two GPUs, two learners each, tau of 3") {
  // All-reduce of 40 MB over 2 GPUs: launch 1 ms + 2 rounds of 2 us + 20 MB / 40 GB/s = 2.004 ms in all.
  // G = 1 + 2.004 + 3 = 6.004 ms, hidden: 12 ms; without overlap 10 + 2 + 6.004 ms.
  SmaOptions o = options(2, 2);
  o.launch_s = 1e-3;
  CHECK(period_s(light_cost(), o) == Approx(12e-3).epsilon(1e-9));
  o.overlap = false;
  CHECK(period_s(light_cost(), o) == Approx(18.004e-3).epsilon(1e-9));
  // tau 3, no overlap: 3 learning tasks, 2 plain updates of 1 ms, 1 synchronisation: (30 + 2 + 2 + 6.004) / 3.
  o.tau = 3;
  CHECK(period_s(light_cost(), o, 3) == Approx(40.004e-3 / 3).epsilon(1e-9));
  // With overlap (30 + 2 + 2) / 3, and where G = 100 ms hides no longer, (l + G) / 3.
  o.overlap = true;
  CHECK(period_s(light_cost(), o, 3) == Approx(34e-3 / 3).epsilon(1e-9));
  SmaCost slow = light_cost();
  slow.average.seconds = 100e-3 - 3.004e-3;
  CHECK(period_s(slow, o, 3) == Approx(102e-3 / 3).epsilon(1e-9));
}

TEST_CASE("learners by hand: two learners that fill more than the GPU") {
  // Each learner fills 0.8: together they run at 1 / 1.6, 16 ms instead of 10. Two local tasks of fill 0.5 take 2 ms.
  // Then aggregate and average, with fill 0.2, overlap learning for 4 ms. They take 0.2 of the GPU and leave 0.8 for
  // two learners, which lose 4 x 0.2 = 0.8 ms: 2 + 16 + 0.8 ms.
  SmaCost cost = light_cost();
  cost.learning = {{"learn", 10e-3, 0.8}};
  cost.local.fill = 0.5;
  cost.aggregate.fill = cost.average.fill = 0.2;
  CHECK(period_s(cost, options(1, 2)) == Approx(18.8e-3).epsilon(1e-9));
  // Never synchronised: 16 ms and the update, 1 ms at 0.1.
  CHECK(period_s(cost, options(1, 2, 0)) == Approx(17e-3).epsilon(1e-9));
}

TEST_CASE("learners by hand: the host synchronises two GPUs of two learners") {
  // Learning takes 10 ms and the update 1 ms on each. Then the host notices (w = 0.5 ms), has the first GPU form its
  // differences (2 ms) and notices (w), then the second (2 ms + w). The all-reduce of 40 MB takes 2.004 ms with its
  // launch, the average model 3 ms; and the host notices (w): 11 + 0.5 + 2 x 2.5 + 2.004 + 3 + 0.5 ms.
  SmaOptions o = options(2, 2);
  o.launch_s = 1e-3;
  o.by_host = true;
  o.host_wait_s = 0.5e-3;
  SmaCost cost = light_cost();
  cost.differences = {2e-3, 0.1};
  CHECK(period_s(cost, o) == Approx(22.004e-3).epsilon(1e-6));
  // One GPU: 11 + 0.5 + 2.5 + 3 + 0.5 ms.
  o.gpus = 1;
  CHECK(period_s(cost, o) == Approx(17.5e-3).epsilon(1e-6));
  // If every third iteration synchronises, the mean is (2 x 11 + 22.004) / 3; without synchronisation 11 ms.
  o.gpus = 2;
  o.tau = 3;
  CHECK(period_s(cost, o, 3) == Approx(44.004e-3 / 3).epsilon(1e-6));
  o.tau = 0;
  CHECK(period_s(cost, o) == Approx(11e-3).epsilon(1e-6));
}

TEST_CASE("the host waits for the slowest learner of all in every synchronisation, streams only one iteration later") {
  // One of the eight GPUs in turn takes 1.2 times as long. The host waits for it in every iteration. With streams each
  // GPU loses that time once in eight iterations, 11 + 2.2 / 8 ms, because the others need its difference only an
  // iteration later.
  const Jitter in_turn = [](int gpu, int draw) { return gpu == draw / 2 % 8 && draw % 2 == 0 ? 1.2 : 1.0; };
  SmaOptions o = options(8, 1);
  o.iterations = 17;
  SmaCost cost = light_cost();
  cost.differences = cost.local = cost.update;
  cost.aggregate = {};
  cost.wire_bytes = 8;
  const auto mean_s = [&] {
    const std::vector<double> e = ends(cost, o, in_turn);
    return (e.back() - e.front()) / double(e.size() - 1);
  };
  const double streams_s = mean_s();
  o.by_host = true;
  const double host_s = mean_s();
  // 1.2 x (10 + 1) + 8 x 1 + 3 ms and the all-reduce's 14 rounds of 2 us.
  CHECK(host_s == Approx(24.228e-3).epsilon(1e-4));
  CHECK(streams_s == Approx(11.275e-3).epsilon(1e-3));
}

TEST_CASE("one learner without overlap takes the sum of its parts, as S-SGD does") {
  SmaOptions o = options(2, 1);
  o.overlap = false;
  SmaCost cost = light_cost();
  cost.aggregate = {};
  // 10 + 2 + all-reduce 2 x (2 us + 0.5 ms) + 3 ms
  CHECK(period_s(cost, o) == Approx(16.004e-3).epsilon(1e-9));
  // S-SGD of the same parts: compute 12 ms, all-reduce of 40 MB after it, an update of 3 ms.
  const double s_sgd_s = in_child([] {
    Cluster cluster(tests::nvswitch_cluster(1, 2), 2);
    Enqueue gpu(2, {"compute", "all-reduce"});
    const int plan = gpu.add_plan(ring_all_reduce(2, 40'000'000));
    int last = -1;
    for (int t = 0; t < 2; ++t) {
      gpu.begin_iteration();
      last = gpu.compute(0, "gradient", 12e-3, last < 0 ? std::vector<int>{} : std::vector<int>{last});
      last = gpu.compute(0, "update", 3e-3, {gpu.collective(1, "all-reduce", plan, 0, {last})});
      gpu.end_iteration(last);
    }
    const std::vector<double> e = replay_messages(gpu.finish(), cluster, no_jitter).iteration_end_s;
    return std::vector<double>{e[1] - e[0]};
  })[0];
  CHECK(period_s(cost, o) == Approx(s_sgd_s).epsilon(1e-9));
}

TEST_CASE("never synchronised is pure computation, the limit of a growing tau") {
  for (double fill : {0.3, 0.7, 1.0})
    for (int learners : {1, 2, 4}) {
      SmaCost cost = light_cost();
      cost.learning = {{"learn", 10e-3, fill}};
      cost.update.fill = cost.local.fill = fill;
      INFO(learners << " learners of " << fill);
      const double pure_s = 11e-3 * std::max(1.0, learners * fill);
      CHECK(period_s(cost, options(2, learners, 0)) == Approx(pure_s).epsilon(1e-9));
      double before = 1;
      for (int tau : {1, 2, 4, 6}) {
        const double period = period_s(cost, options(2, learners, tau), std::max(1, tau));
        CHECK(period >= pure_s * (1 - 1e-9));
        CHECK(period <= before * (1 + 1e-9));
        before = period;
      }
    }
}

TEST_CASE("no schedule trains faster than the fluid model of the GPU allows") {
  for (double fill : {0.2, 0.5, 0.9})
    for (int learners : {1, 3, 6})
      for (bool round_robin : {false, true})
        for (int tau : {0, 1, 2}) {
          SmaCost cost = light_cost();
          cost.learning = {{"forward", 4e-3, fill}, {"backward", 6e-3, std::min(1.0, 1.5 * fill)}};
          SmaOptions o = options(2, learners, tau);
          o.round_robin = round_robin;
          const std::vector<double> e = ends(cost, o);
          INFO(learners << " learners of " << fill << ", tau " << tau);
          // Learning must be no faster than by itself, and use no more than the whole GPU.
          const double iterations = static_cast<double>(e.size());
          CHECK(e.back() / iterations >= std::max(10e-3, learners * 10e-3 * cost.fill()) * (1 - 1e-9));
        }
}

TEST_CASE("first come first served is at least as fast as round-robin under jitter") {
  double gained = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (int tau : {0, 1}) {
      const Jitter jitter = [seed](int gpu, int draw) {
        return std::max(
            0.2, 1 + 0.4 * random_normal(seed, static_cast<std::uint64_t>(gpu), static_cast<std::uint64_t>(draw)));
      };
      SmaCost cost = light_cost();
      cost.learning = {{"learn", 10e-3, 0.2}};
      SmaOptions o = options(1, 4, tau);
      o.iterations = 60;
      const double fcfs_s = ends(cost, o, jitter).back();
      o.round_robin = true;
      const double in_turn_s = ends(cost, o, jitter).back();
      INFO("seed " << seed << ", tau " << tau);
      CHECK(fcfs_s <= in_turn_s * (1 + 1e-9));
      gained += in_turn_s / fcfs_s - 1;
    }
  CHECK(gained / 16 > 0.005);
}

TEST_CASE("the closed form is near the messages") {
  for (double fill : {0.3, 0.6, 1.0})
    for (int learners : {1, 2, 4})
      for (int tau : {1, 3, 0}) {
        SmaCost cost = light_cost();
        cost.learning = {{"learn", 10e-3, fill}};
        const SmaOptions o = options(2, learners, tau);
        const double closed_s = in_child([&] {
                                  Cluster cluster(tests::nvswitch_cluster(1, 2), 2);
                                  return replay_analytic(sma(cost, o, ring_all_reduce), cluster, 1).iteration_end_s;
                                }).back();
        INFO(learners << " learners of " << fill << ", tau " << tau);
        CHECK(closed_s == Approx(ends(cost, o).back()).epsilon(0.1));
      }
}

namespace {

// How many updates of its average model a GPU has seen when it begins each local synchronisation, in order.
std::vector<int> versions_read(const Program& program, const GpuTimeline& timeline) {
  std::vector<int> versions;
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    if (program.work[w].name != "local synchronisation") continue;
    int version = 0;
    for (std::size_t u = 0; u < program.work.size(); ++u)
      version += program.work[u].name == "average model" && timeline.end_s[u] <= timeline.start_s[w];
    versions.push_back(version);
  }
  return versions;
}

// Begin and end of the n-th work of a name.
std::pair<double, double> ends_of(const Program& program, const GpuTimeline& timeline, const std::string& name, int n) {
  for (std::size_t w = 0; w < program.work.size(); ++w)
    if (program.work[w].name == name && n-- == 0) return {timeline.start_s[w], timeline.end_s[w]};
  throw std::logic_error("no such work");
}

}  // namespace

TEST_CASE("all learners of all GPUs read the same version of the average model at each synchronisation") {
  for (int tau : {1, 2})
    for (bool overlap : {true, false}) {
      SmaOptions o = options(4, 3, tau);
      o.overlap = overlap;
      o.iterations = 12;
      const int rounds = 12 / tau;
      const std::vector<double> result = in_child([&] {
        Cluster cluster(tests::nvswitch_cluster(1, 4), 4);
        const Program program = sma(light_cost(), o, ring_all_reduce);
        ReplayOptions log;
        log.timeline_gpus = {0, 1, 2, 3};
        const Jitter jitter = [](int gpu, int draw) {
          return 1 + 0.5 * random_uniform(7, static_cast<std::uint64_t>(gpu), static_cast<std::uint64_t>(draw));
        };
        Replay replay = replay_messages(program, cluster, jitter, log);
        double wrong = 0;
        for (const GpuTimeline& timeline : replay.timelines) {
          const std::vector<int> versions = versions_read(program, timeline);
          for (std::size_t i = 0; i < versions.size(); ++i) wrong += versions[i] != static_cast<int>(i) / 3;
        }
        // No GPU moves its average model before all have given their differences.
        for (int round = 0; round < rounds; ++round) {
          double last_given = 0;
          for (const GpuTimeline& timeline : replay.timelines)
            last_given = std::max(last_given, ends_of(program, timeline, "aggregate", round).second);
          for (const GpuTimeline& timeline : replay.timelines)
            wrong += ends_of(program, timeline, "average model", round).first < last_given;
        }
        // The check finds a learner that reads too early.
        GpuTimeline early = replay.timelines[2];
        for (std::size_t w = program.work.size(); w-- > 0;)
          if (program.work[w].name == "local synchronisation") {
            early.start_s[w] = 0;
            break;
          }
        return std::vector<double>{
            wrong, double(versions_read(program, early) != versions_read(program, replay.timelines[2]))};
      });
      INFO("tau " << tau << (overlap ? ", overlapped" : ""));
      CHECK(result[0] == 0);
      CHECK(result[1] == 1);
    }
}

TEST_CASE("by the host: all GPUs form their differences on one version of the average model, and learn on the next") {
  SmaOptions o = options(4, 2);
  o.by_host = true;
  o.host_wait_s = 0.1e-3;
  o.iterations = 8;
  SmaCost cost = light_cost();
  cost.differences = {2e-3, 0.1};
  const std::vector<double> wrong = in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(1, 4), 4);
    const Program program = sma(cost, o, ring_all_reduce);
    ReplayOptions log;
    log.timeline_gpus = {0, 1, 2, 3};
    const Jitter jitter = [](int gpu, int draw) {
      return 1 + 0.5 * random_uniform(7, static_cast<std::uint64_t>(gpu), static_cast<std::uint64_t>(draw));
    };
    const Replay replay = replay_messages(program, cluster, jitter, log);
    double early = 0, checked = 0;
    for (int round = 0; round + 1 < o.iterations; ++round) {
      double first_difference_s = 1e9, last_average_s = 0, last_difference_s = 0, first_average_s = 1e9;
      for (const GpuTimeline& timeline : replay.timelines) {
        const auto difference = ends_of(program, timeline, "differences", round);
        const auto average = ends_of(program, timeline, "average model", round);
        last_difference_s = std::max(last_difference_s, difference.second);
        first_average_s = std::min(first_average_s, average.first);
        last_average_s = std::max(last_average_s, average.second);
        first_difference_s = std::min(first_difference_s, ends_of(program, timeline, "differences", round + 1).first);
        // Two learners a GPU: their tasks of the next round are the works 2 (round + 1) and the one after.
        for (int j = 0; j < 2; ++j)
          early += ends_of(program, timeline, "learn", 2 * (round + 1) + j).first < average.second;
      }
      early += first_average_s < last_difference_s;
      early += first_difference_s < last_average_s;
      ++checked;
    }
    return std::vector<double>{early, checked};
  });
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 7);
}

TEST_CASE("input: workers that are slower than the GPUs stall the learners, faster ones do not") {
  SmaOptions o = options(2, 2);
  o.load_s = 8e-3;  // of one learner's batch: 16 ms for two, more than an iteration of 12 ms
  CHECK(period_s(light_cost(), o) == Approx(16e-3).epsilon(1e-9));
  o.load_s = 5e-3;
  CHECK(period_s(light_cost(), o) == Approx(12e-3).epsilon(1e-9));
  // A single buffer is refilled only when its learning task has ended: 5 + 10 ms of the learner whose batch is first,
  // the other's loading falls into its learning.
  o.prefetch = 1;
  CHECK(period_s(light_cost(), o) > 14.9e-3);
}
