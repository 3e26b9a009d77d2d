// Asynchronous SGD: staleness by hand and by law; asynchronous EASGD's exchanges by hand.
#include "sim/schedule/async_sgd.hpp"

#include <algorithm>
#include <map>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"
#include "sim/cost/delay.hpp"
#include "sim/replay/actors.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

// Free communication: all on one node's CPU. Shards of equal work, 1 s of it in all, a third of it forward.
AsyncSgd free_of_communication(int workers, int shards) {
  AsyncSgd o;
  o.workers.assign(to_index(workers), {Place::Kind::node, 0});
  o.servers = {{Place::Kind::node, 0}};
  for (int i = 0; i < shards; ++i) o.shards.push_back({"", 1000, 1.0 / 3 / shards, 2.0 / 3 / shards, 0});
  return o;
}

struct Update {
  double time_s;
  int shard;
  double staleness;
};

std::vector<double> log_of(const std::vector<Actor>& actors, const std::string& what, int nodes) {
  return in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(nodes, 2), 2 * nodes);
    std::vector<double> numbers;
    for (const ActorEvent& e : replay_actors(actors, cluster).log)
      if (e.what == what) {
        numbers.push_back(e.time_s);
        numbers.push_back(double(e.value));
      }
    return numbers;
  });
}

std::vector<Update> updates_of(const AsyncSgd& options, int nodes = 1) {
  const std::vector<double> flat = log_of(async_sgd(options), "update", nodes);
  std::vector<Update> updates;
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    const auto event = static_cast<std::int64_t>(flat[i + 1]);
    updates.push_back({flat[i], shard_of(event), double(staleness_of(event))});
  }
  return updates;
}

// Returns staleness without the first and last `skip` updates, during which not all workers run.
std::vector<double> staleness(const std::vector<Update>& updates, int shard, std::size_t skip) {
  std::vector<double> values;
  for (const Update& update : updates)
    if (update.shard == shard) values.push_back(update.staleness);
  const auto ends = static_cast<std::ptrdiff_t>(std::min(skip, values.size() / 2));
  return {values.begin() + ends, values.end() - ends};
}

}  // namespace

TEST_CASE("a side branch goes back as soon as it has gone forward") {
  // Bottom, side branch and top each take 1 s forward and 2 s back. The bottom runs forward until 1 s. The branch runs
  // forward until 2 s and back until 4 s. The top runs forward until 5 s and back until 7 s. The bottom runs back until
  // 9 s.
  AsyncSgd o = free_of_communication(1, 3);
  for (Shard& shard : o.shards) shard.forward_s = 1, shard.backward_s = 2;
  o.shards[1].is_side_branch = true;
  const std::vector<Update> updates = updates_of(o);
  REQUIRE(updates.size() == 3);
  const int order[]{1, 2, 0};
  const double ends_s[]{4, 7, 9};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(updates[i].shard == order[i]);
    CHECK(updates[i].time_s == Approx(ends_s[i]));
  }
  // Sent at the end, all come together.
  o.sends_in_backward = false;
  for (const Update& update : updates_of(o)) CHECK(update.time_s == Approx(9));
}

TEST_CASE("asynchronous staleness by hand: a fast and a slow worker") {
  // One shard, free communication, 3 steps each. Worker 0 updates at 1, 2, 3 s; worker 1 at 2.5, 5 and 7.5 s.
  //   2.5 s: worker 1 read version 0 at 0 s, there were updates at 1 and 2 s: staleness 2.
  //   3 s:   worker 0 read at 2 s, worker 1 has updated since: 1. At 1 and 2 s: 0.
  //   5 s:   worker 1 read at 2.5 s, worker 0 updated at 3 s: 1. At 7.5 s worker 0 has ended: 0.
  AsyncSgd o = free_of_communication(2, 1);
  o.steps = 3;
  o.factor = [](int worker, int) { return worker == 0 ? 1.0 : 2.5; };
  const std::vector<Update> updates = updates_of(o);
  std::vector<double> times, stale;
  for (const Update& update : updates) {
    times.push_back(update.time_s);
    stale.push_back(update.staleness);
  }
  REQUIRE(times.size() == 6);
  const std::vector<double> expected{1, 2, 2.5, 3, 5, 7.5};
  for (std::size_t i = 0; i < 6; ++i) CHECK(times[i] == Approx(expected[i]));
  CHECK(stale == std::vector<double>{0, 0, 2, 1, 1, 0});
}

TEST_CASE("equal workers apart: every gradient is N - 1 updates old, of the bottom layer") {
  for (int workers : {1, 2, 5, 16}) {
    AsyncSgd o = free_of_communication(workers, 1);
    o.steps = 6;
    o.begin_s = [=](int worker) { return double(worker) / workers; };
    for (double s : staleness(updates_of(o), 0, to_index(workers))) CHECK(s == workers - 1);
  }
}

TEST_CASE("mean staleness stays N - 1 whatever the delays, as long as all that is updated was read") {
  // Between a worker's read and its update, the others make N - 1 updates on average. Reason: in the long run all
  // workers make updates at the same mean rate, and each worker is always between a read and an update.
  AsyncSgd o = free_of_communication(10, 1);
  o.steps = 150;
  DelaySpec spec;
  spec.kind = DelaySpec::Kind::lognormal;
  spec.shape = 0.4;
  const Delay delay(spec);
  o.factor = [&](int worker, int step) { return delay.draw(5, worker, step); };
  const std::vector<double> values = staleness(updates_of(o), 0, 200);
  CHECK(mean(values) == Approx(9).epsilon(0.02));
  CHECK(standard_deviation(values) > 1);
}

TEST_CASE("staleness falls from the bottom layer to the top, with the time between read and update") {
  // Four shards, forward 1/12 s and backward 1/6 s each. Shard i is read at i/12 and updated at 1/3 + (4 - i)/6:
  // between them 1 - i/4, and workers update it every 1/N s: staleness (1 - i/4) N to within one.
  const int workers = 24;
  AsyncSgd o = free_of_communication(workers, 4);
  o.steps = 6;
  o.begin_s = [=](int worker) { return double(worker) / workers; };
  for (int shard = 0; shard < 4; ++shard) {
    const double lag = 1 - shard / 4.0;
    CHECK(std::abs(mean(staleness(updates_of(o), shard, to_index(workers))) - lag * workers) <= 1);
  }
  // Read at the beginning: only the sending differs, 1/3 + (4 - i)/6. Sent at the end as well: all are N - 1 old.
  o.reads_in_forward = false;
  for (int shard = 0; shard < 4; ++shard) {
    const double lag = 1.0 / 3 + (4 - shard) / 6.0;
    CHECK(std::abs(mean(staleness(updates_of(o), shard, to_index(workers))) - lag * workers) <= 1);
  }
  o.sends_in_backward = false;
  for (int shard = 0; shard < 4; ++shard)
    CHECK(std::abs(mean(staleness(updates_of(o), shard, to_index(workers))) - workers) <= 1);
}

TEST_CASE("workers that begin at random are as unevenly apart as independent ones") {
  // N workers have equal steps of 1 s with random phases. Each other worker updates a shard during the w of a step
  // between a read and its update with probability w. The mean is (N - 1) w, with the binomial's variance (N - 1) w (1
  // - w). Phases do not change within a run, so several runs are averaged. If the phases were evenly spaced, the
  // variance would be below 1.
  const int workers = 24;
  AsyncSgd o = free_of_communication(workers, 4);
  o.steps = 6;
  o.reads_in_forward = false;
  const auto variance_of = [&](int shard) {
    const double sd = standard_deviation(staleness(updates_of(o), shard, to_index(2 * workers)));
    return sd * sd;
  };
  for (int shard : {1, 3}) {
    o.begin_s = [=](int worker) { return double(worker) / workers; };
    CHECK(variance_of(shard) < 1);
    double variance = 0;
    const int runs = 8;
    for (std::uint64_t run = 0; run < runs; ++run) {
      o.begin_s = [=](int worker) { return random_uniform(run, 1, static_cast<std::uint64_t>(worker)); };
      variance += variance_of(shard) / runs;
    }
    const double lag = 1.0 / 3 + (4 - shard) / 6.0;
    CHECK(variance == Approx((workers - 1) * lag * (1 - lag)).epsilon(0.35));
  }
}

TEST_CASE("every gradient of every shard makes one update, over the network, too") {
  AsyncSgd o;
  const int nodes = 4;
  for (int w = 0; w < 6; ++w) o.workers.push_back({Place::Kind::gpu, w});
  o.servers = {{Place::Kind::node, 3}, {Place::Kind::node, 2}};
  for (int i = 0; i < 5; ++i) o.shards.push_back({"", 10'000'000 * (i + 1), 0.01, 0.02, i % 2});
  o.steps = 7;
  o.apply_rate_bytes_per_s = 10e9;
  const std::vector<Update> updates = updates_of(o, nodes);
  std::map<int, int> count;
  for (const Update& update : updates) {
    ++count[update.shard];
    CHECK(update.staleness >= 0);
  }
  for (int shard = 0; shard < 5; ++shard) CHECK(count[shard] == 6 * 7);
}

TEST_CASE("asynchronous EASGD by hand: the server exchanges with one worker after the other") {
  // Two workers on GPUs of nodes 0 and 1 (PCIe 25 GB/s and 0.8 us, NICs 12.5 GB/s and 1.5 us, fabric 0.5 us), server
  // on GPU 4 (node 2); 25 MB, 10 ms a step, tau = 2. Asking takes l = 0.8 + 1.5 + 0.5 + 1.5 + 0.8 = 5.1 us; the
  // server's go l; the replica follows: l + 2 ms, while the centre comes back: an exchange lasts 3 l + 2 ms for the
  // first worker. The second one asked at the same time and waits for the server: it is told to go after l + (2 l + 2
  // ms), and needs 2 l + 2 ms more.
  AsyncEasgd o;
  o.workers = {{Place::Kind::gpu, 0}, {Place::Kind::gpu, 2}};
  o.server = {Place::Kind::gpu, 4};
  o.bytes = 25'000'000;
  o.step_s = 10e-3;
  o.steps = 2;
  o.period = 2;
  const double l = 5.1e-6;
  const std::vector<double> log = log_of(async_easgd(o), "exchanged", 3);
  REQUIRE(log.size() == 4);
  CHECK(log[0] == Approx(20e-3 + 3 * l + 2e-3).epsilon(1e-6));
  CHECK(log[1] * 1e-9 == Approx(3 * l + 2e-3).epsilon(1e-4));
  CHECK(log[3] * 1e-9 == Approx(5 * l + 4e-3).epsilon(1e-4));
}

TEST_CASE("asynchronous EASGD: steps between exchanges cost no communication") {
  AsyncEasgd o;
  o.workers = {{Place::Kind::gpu, 0}};
  o.server = {Place::Kind::gpu, 2};
  o.bytes = 25'000'000;
  o.step_s = 10e-3;
  o.steps = 12;
  for (int period : {1, 2, 3, 13}) {
    o.period = period;
    const std::vector<double> log = log_of(async_easgd(o), "step", 2);
    CHECK(log[log.size() - 2] == Approx(0.12 + (12 / period) * (3 * 5.1e-6 + 2e-3)).epsilon(1e-6));
  }
}

TEST_CASE("EASGD refuses an alpha outside of 0 to 1 and a tau below 1") {
  AsyncEasgd o;
  o.elastic_rate = 1;
  CHECK_THROWS_AS(async_easgd(o), std::invalid_argument);
  o.elastic_rate = 0.5;
  o.period = 0;
  CHECK_THROWS_AS(async_easgd(o), std::invalid_argument);
}
