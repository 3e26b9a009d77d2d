// Shared links approximated round by round: exact if all ranks are equivalent, approximate otherwise.
#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/exchange.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/replay/processor_sharing.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/replay/clusters.hpp"
#include "tests/replay/table.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::vector<double> shared(const std::vector<SharingFlow>& flows, double bandwidth) {
  std::vector<double> ends_s;
  ProcessorSharing().run(flows, bandwidth, ends_s);
  return ends_s;
}

std::vector<Plan> round_plans(int gpus, std::int64_t bytes) {
  return {ring_all_reduce(gpus, bytes),     hierarchical_all_reduce(gpus, 8, bytes),
          tree_all_reduce(gpus, bytes),     double_binary_tree_all_reduce(gpus, 8, bytes),
          torus_all_reduce(gpus, 8, bytes), halving_doubling_all_reduce(gpus, bytes),
          reduce_scatter(gpus, bytes)};
}

// The relative difference to simulating single messages, of the time from the last arrival to the last end.
double deviation(const ClusterSpec& spec, const Plan& plan, double spread_s, double reduction_rate) {
  Cluster cluster(spec, plan.ranks);
  cluster.set_message_overhead({5e-6, 7e-6});
  const std::vector<double> arrivals = tests::random_arrivals(plan.ranks, spread_s);
  const auto last = [](const std::vector<double>& times) { return *std::max_element(times.begin(), times.end()); };
  const double flows = last(plan_by_flows(plan, cluster, arrivals, reduction_rate)) - last(arrivals);
  const double rounds = last(plan_by_shared_rounds(plan, cluster, arrivals, reduction_rate)) - last(arrivals);
  return std::fabs(rounds / flows - 1);
}

}  // namespace

TEST_CASE("one link shared by hand") {
  // Two flows of 100 bytes share 10 bytes/s. The second starts half a transfer later: 5 s alone, 10 s together, 5 s
  // alone.
  CHECK(shared({{0, 100, 1e9}, {5, 100, 1e9}}, 10) == std::vector<double>{15, 20});
  // One that never gets more than 2 bytes/s leaves 8 to the other.
  CHECK(shared({{0, 20, 2}, {0, 80, 1e9}}, 10) == std::vector<double>{10, 10});
  CHECK(shared({{0, 50, 1e9}, {0, 50, 1e9}}, 10) == std::vector<double>{10, 10});
  CHECK(shared({{1, 50, 5}, {30, 50, 1e9}}, 10) == std::vector<double>{11, 35});
  CHECK(shared({}, 10).empty());
}

TEST_CASE("law: a shared link serves all bytes, no faster than its bandwidth, and many flows as few") {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    std::vector<SharingFlow> flows;
    double bytes = 0, begin_s = 1e9;
    const int count = 2 + static_cast<int>(random_uniform(3, trial, 0) * 90);
    for (int i = 0; i < count; ++i) {
      const auto draw = [&](std::uint64_t what) {
        return random_uniform(4 + what, trial, static_cast<std::uint64_t>(i));
      };
      flows.push_back({draw(0), 1 + 10 * draw(1), 1e9});
      bytes += flows.back().bytes;
      begin_s = std::min(begin_s, flows.back().start_s);
    }
    const double bandwidth = bytes / 10;
    const std::vector<double> ends_s = shared(flows, bandwidth);
    CHECK(*std::max_element(ends_s.begin(), ends_s.end()) >= begin_s + 10 - 1e-9);
    CHECK(*std::max_element(ends_s.begin(), ends_s.end()) <= 1 + 10 + 1e-9);  // all have begun after a second
    for (std::size_t i = 0; i < flows.size(); ++i)
      CHECK(ends_s[i] >= flows[i].start_s + flows[i].bytes / bandwidth * (1 - 1e-9));
  }
}

TEST_CASE("links shared round by round: every collective on every kind of cluster, ranks together and apart") {
  for (int gpus : {32, 64})
    for (const ClusterSpec& spec : tests::clusters_of_each_kind(gpus / 8))
      for (const Plan& plan : round_plans(gpus, 3'000'000)) {
        const double together = deviation(spec, plan, 0, 0), apart = deviation(spec, plan, 1e-3, 5e9);
        INFO(plan.algorithm << " over " << gpus << " on " << spec.name << ": " << together << ", " << apart);
        // Where a GPU has its links for itself, rounds do not meet.
        const double most = spec.name == "a NIC per GPU" ? 0.01 : 0.15;
        CHECK(together < most);
        CHECK(apart < most);
      }
}

TEST_CASE("whole iterations round by round are near those of messages one by one, what crosses a link later included") {
  for (const int gpus : {64, 512})
    for (const ClusterSpec& cluster : tests::table_clusters(gpus / 8))
      for (const auto& [name, scenario] : tests::table_rows(cluster, gpus)) {
        if (has_workers(scenario.algorithm) || scenario.trains_learners()) continue;
        if (gpus == 512 && tests::goes_round_all(name, scenario)) continue;
        const Program program = build_program(scenario, gpus, tests::kTableBatch, 3);
        const Cluster on(cluster, occupied_gpus(scenario, gpus));
        const Jitter jitter = workers_only(jitter_of(scenario, 1), gpus);
        Replay rounds;
        if (!replay_shared_rounds(program, on, jitter, {}, MeetingLinks::any, rounds)) continue;
        const double flows_s = replay_flows(program, on, jitter).iteration_end_s.back();
        const double deviation = rounds.iteration_end_s.back() / flows_s - 1;
        INFO(name << " over " << gpus << " on " << cluster.name << ": " << 100 * deviation << " %");
        // Tensors come faster than links carry them: what rounds leave out is as much as it can be.
        CHECK(std::fabs(deviation) < 0.16);
      }
}
