// Backup workers: cases worked by hand, properties of every log, the law of order statistics.
#include "sim/schedule/backup_workers.hpp"

#include <algorithm>
#include <map>

#include "engine/base/index.hpp"
#include "sim/cost/delay.hpp"
#include "sim/replay/actors.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

// All actors are in one place, so communication is free.
BackupWorkers free_backups(int workers, int servers, double forward_s, double backward_s) {
  BackupWorkers o;
  o.workers.assign(to_index(workers), {Place::Kind::node, 0});
  o.servers.assign(to_index(servers), {Place::Kind::node, 0});
  o.aggregate = workers;
  for (int j = 0; j < servers; ++j) o.shards.push_back({"", 1000, forward_s / servers, backward_s / servers, j});
  return o;
}

// The log as rows of numbers: {time, actor, what, value}.
enum What { kHasRead, kComputed, kAbandoned, kSent, kUsed, kDropped, kUpdate };
struct Row {
  double time_s;
  int actor;
  What what;
  std::int64_t value;
};

std::vector<Row> rows_of(const BackupWorkers& options, int nodes = 1, Fidelity fidelity = Fidelity::message) {
  static const std::vector<std::string> names{"read", "computed", "abandoned", "sent", "used", "dropped", "update"};
  const std::vector<double> flat = in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(nodes, 2), 2 * nodes);
    std::vector<double> numbers;
    for (const ActorEvent& e : replay_actors(backup_workers(options), cluster, fidelity).log)
      for (double number : {e.time_s, double(e.actor),
                            double(std::find(names.begin(), names.end(), e.what) - names.begin()), double(e.value)})
        numbers.push_back(number);
    return numbers;
  });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < flat.size(); i += 4)
    rows.push_back({flat[i], static_cast<int>(flat[i + 1]), static_cast<What>(flat[i + 2]),
                    static_cast<std::int64_t>(flat[i + 3])});
  return rows;
}

std::vector<Row> only(const std::vector<Row>& log, What what) {
  std::vector<Row> rows;
  std::copy_if(log.begin(), log.end(), std::back_inserter(rows), [=](const Row& row) { return row.what == what; });
  return rows;
}

// Every sent gradient was used once or dropped once. Every update used as many as it reports.
void check_conservation(const BackupWorkers& o, const std::vector<Row>& log) {
  CHECK(only(log, kSent).size() == only(log, kUsed).size() + only(log, kDropped).size());
  std::map<std::pair<int, std::int64_t>, int> used;  // by server and version
  for (const Row& row : only(log, kUsed)) ++used[{row.actor, row.value}];
  std::map<int, std::int64_t> version;
  for (const Row& row : only(log, kUpdate)) CHECK(used[{row.actor, version[row.actor]++}] == row.value);
  CHECK(version.size() == o.servers.size());
  for (const auto& [server, last] : version) CHECK(last == o.steps);
}

}  // namespace

TEST_CASE("backup workers by hand: 2 of 3 gradients, the late one is dropped and its worker goes on from the newest") {
  // Steps of 1 s, of 2 s and of 5 s; N = 2. Free communication.
  //   t = 0: gradients at 1 and 2 s -> theta(1) at 2 s.
  //   Workers 0 and 1 start at 2 s: gradients at 3 and 4 s -> theta(2) at 4 s; again -> theta(3) at 6 s.
  //   Worker 2's gradient of theta(0) comes at 5 s, is dropped; it reads theta(2) at once. All end with theta(3):
  //   worker 2 first finishes at 10 s, its second gradient dropped, too.
  BackupWorkers o = free_backups(3, 1, 0.25, 0.75);
  o.aggregate = 2;
  o.steps = 3;
  o.factor = [](int worker, int) { return std::vector<double>{1, 2, 5}[to_index(worker)]; };
  const std::vector<Row> log = rows_of(o);
  std::vector<double> updates, dropped, read_by_late;
  for (const Row& row : only(log, kUpdate)) updates.push_back(row.time_s);
  for (const Row& row : only(log, kDropped)) dropped.push_back(row.time_s);
  for (const Row& row : only(log, kHasRead))
    if (row.actor == 2) read_by_late.push_back(double(row.value));
  CHECK(updates == std::vector<double>{2, 4, 6});
  CHECK(dropped == std::vector<double>{5, 10});
  CHECK(read_by_late == std::vector<double>{0, 2});
  check_conservation(o, log);
}

TEST_CASE("backup workers by hand: interrupted workers start every step with the others") {
  // The same workers; worker 2 is interrupted at 2, 4 and 6 s and never sends.
  BackupWorkers o = free_backups(3, 1, 0.25, 0.75);
  o.aggregate = 2;
  o.steps = 3;
  o.is_interrupted = true;
  o.factor = [](int worker, int) { return std::vector<double>{1, 2, 5}[to_index(worker)]; };
  const std::vector<Row> log = rows_of(o);
  std::vector<double> abandoned;
  for (const Row& row : only(log, kAbandoned)) abandoned.push_back(row.time_s);
  CHECK(abandoned == std::vector<double>{2, 4, 6});
  CHECK(only(log, kUpdate).back().time_s == 6);
  CHECK(only(log, kDropped).empty());
  check_conservation(o, log);
}

TEST_CASE("a time-out by hand: what has come after 1.5 s makes the update, late gradients are dropped") {
  // Steps of 1, 1.25 and 4 s. theta(1) at 1.5 s from 2 gradients; theta(2) at 3 s from 2. Worker 2's gradient of
  // theta(0) comes at 4 s, dropped; theta(3) at 4.5 s from workers 0 (4 s) and 1 (4.25 s).
  BackupWorkers o = free_backups(3, 1, 0.5, 0.5);
  o.steps = 3;
  o.timeout_s = 1.5;
  o.factor = [](int worker, int) { return std::vector<double>{1, 1.25, 4}[to_index(worker)]; };
  const std::vector<Row> log = rows_of(o);
  const std::vector<Row> updates = only(log, kUpdate);
  REQUIRE(updates.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(updates[i].time_s == Approx(1.5 * double(i + 1)).epsilon(1e-12));
    CHECK(updates[i].value == 2);
  }
  CHECK(only(log, kDropped).front().time_s == 4);
  check_conservation(o, log);
}

TEST_CASE("a time-out shorter than any step waits for the first gradient") {
  BackupWorkers o = free_backups(2, 1, 0.5, 0.5);
  o.steps = 2;
  o.timeout_s = 0.1;
  o.factor = [](int worker, int) { return 1.0 + worker; };
  // Worker 0 alone makes both updates, at 1 and 2 s.
  const std::vector<Row> updates = only(rows_of(o), kUpdate);
  CHECK(updates[0].time_s == 1);
  CHECK(updates[1].time_s == 2);
  CHECK(updates[1].value == 1);
}

TEST_CASE("a step over the network by hand: request, parameters, work, gradient") {
  // One worker on GPU 0 of node 0, one server on the CPU of node 1, one shard of 25 MB.
  // Route GPU -> CPU: PCIe 0.8 us, NIC 1.5, fabric 0.5, NIC 1.5: 4.3 us, 12.5 GB/s; back the same. Step 0: request 4.3
  // us, parameters 4.3 us + 2 ms, work 10 ms, gradient 4.3 us + 2 ms.
  BackupWorkers o;
  o.workers = {{Place::Kind::gpu, 0}};
  o.servers = {{Place::Kind::node, 1}};
  o.shards = {{"", 25'000'000, 4e-3, 6e-3, 0}};
  o.steps = 2;
  const std::vector<Row> updates = only(rows_of(o, 2), kUpdate);
  CHECK(updates[0].time_s == Approx(3 * 4.3e-6 + 2 * 2e-3 + 10e-3).epsilon(1e-9));
  // From then on the gradient is the request.
  CHECK(updates[1].time_s - updates[0].time_s == Approx(2 * 4.3e-6 + 2 * 2e-3 + 10e-3).epsilon(1e-9));
}

TEST_CASE("upper shards' gradients travel while lower ones are computed") {
  // Two shards of 12.5 MB (1 ms over the NIC) on two servers; backward 3 ms each. Overlapped, the step waits for the
  // last gradient alone: after 2 + 3 + 3 ms of work 1 ms; otherwise both share the NIC: 2 ms. (Latency 4.3 us each.)
  BackupWorkers o;
  o.workers = {{Place::Kind::gpu, 0}};
  o.servers = {{Place::Kind::node, 1}, {Place::Kind::node, 2}};
  o.shards = {{"", 12'500'000, 1e-3, 3e-3, 0}, {"", 12'500'000, 1e-3, 3e-3, 1}};
  for (const auto& [overlap, fidelity] : {std::pair{true, Fidelity::message},
                                          {true, Fidelity::fast},
                                          {false, Fidelity::message},
                                          {false, Fidelity::fast}}) {
    o.overlap = overlap;
    const std::vector<Row> log = rows_of(o, 3, fidelity);
    const double read_s = only(log, kHasRead)[0].time_s;
    double last_s = 0;
    for (const Row& row : only(log, kUpdate)) last_s = std::max(last_s, row.time_s);
    CHECK(last_s - read_s == Approx(8e-3 + (overlap ? 1e-3 : 2e-3) + 4.3e-6).epsilon(1e-6));
  }
}

TEST_CASE("whatever the delays: gradients are conserved and nobody computes on a mixture of versions") {
  for (bool interrupted : {false, true})
    for (double timeout_s : {0.0, 1.2})
      for (int backups : {0, 1, 3}) {
        const int workers = 8, nodes = 6;
        BackupWorkers o;
        for (int w = 0; w < workers; ++w) o.workers.push_back({Place::Kind::gpu, w});
        for (int j = 0; j < 3; ++j) {
          o.servers.push_back({Place::Kind::node, nodes - 2 + j % 2});
          o.shards.push_back({"", 500'000'000 + 100'000'000 * j, 0.1, 0.2, j});
        }
        o.aggregate = workers - backups;
        o.steps = 12;
        o.timeout_s = timeout_s;
        o.is_interrupted = interrupted;
        o.apply_rate_bytes_per_s = 50e9;
        DelaySpec spec;
        spec.kind = DelaySpec::Kind::pareto_tail;
        spec.shape = 0.2;
        spec.tail_probability = 0.2;
        spec.tail_index = 1.5;
        const Delay delay(spec);
        o.factor = [&](int worker, int step) { return delay.draw(7, worker, step); };
        const std::vector<Row> log = rows_of(o, nodes);
        check_conservation(o, log);
        // With fair flows, every event has the same time.
        const std::vector<Row> fast = rows_of(o, nodes, Fidelity::fast);
        REQUIRE(fast.size() == log.size());
        for (std::size_t i = 0; i < log.size(); ++i) CHECK(fast[i].time_s == Approx(log[i].time_s).epsilon(1e-9));
        // A worker's versions rise; it reads a version only after every server has published it.
        std::map<int, std::int64_t> held;
        std::map<int, std::int64_t> published;
        for (const Row& row : log) {
          if (row.what == kUpdate) ++published[row.actor];
          if (row.what != kHasRead) continue;
          for (int j = 0; j < 3 && row.value > 0; ++j) CHECK(published[workers + j] >= row.value);
          if (held.count(row.actor)) CHECK(row.value > held[row.actor]);
          held[row.actor] = row.value;
        }
        INFO("interrupted " << interrupted << ", backups " << backups << ", time-out " << timeout_s);
        if (timeout_s == 0)
          for (const Row& row : only(log, kUpdate)) CHECK(row.value == o.aggregate);
        if (backups == 0 && timeout_s == 0) CHECK(only(log, kDropped).empty());
      }
}

TEST_CASE("free communication and exponential delays: a step takes (H_{N+b} - H_b) / rate on average") {
  // The N-th smallest of N + b exponentials of mean 1. Interrupted workers start every step afresh, so that steps are
  // independent: the mean of 400 has a standard error of sqrt(sum 1/k^2)/20 < 0.065.
  const int workers = 10;
  for (int backups : {0, 2, 5}) {
    BackupWorkers o = free_backups(workers, 1, 0.4, 0.6);
    o.aggregate = workers - backups;
    o.steps = 400;
    o.is_interrupted = true;
    DelaySpec spec;
    spec.kind = DelaySpec::Kind::gamma;
    spec.shape = 1;
    const Delay delay(spec);
    o.factor = [&](int worker, int step) { return delay.draw(3, worker, step); };
    double expected = 0;
    for (int k = backups + 1; k <= workers; ++k) expected += 1.0 / k;
    const double mean = only(rows_of(o), kUpdate).back().time_s / o.steps;
    INFO(backups << " backups");
    CHECK(std::abs(mean - expected) < 0.13);
    CHECK(delay.expected_order_statistic(o.aggregate, workers) == Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("more backups never make a step later, on the same luck") {
  double before = 1e300;
  for (int backups : {0, 1, 2, 4}) {
    BackupWorkers o = free_backups(12, 1, 0.4, 0.6);
    o.aggregate = 12 - backups;
    o.steps = 50;
    o.is_interrupted = true;
    DelaySpec spec;
    spec.kind = DelaySpec::Kind::lognormal;
    spec.shape = 0.5;
    const Delay delay(spec);
    o.factor = [&](int worker, int step) { return delay.draw(3, worker, step); };
    const double end = only(rows_of(o), kUpdate).back().time_s;
    CHECK(end < before);
    before = end;
  }
}

TEST_CASE("backup workers by hand: who finishes late work may be slower and all the same end sooner") {
  // N = 1 of 2. Worker 0 takes 1 s per step: theta(1) at 1 s, theta(2) at 2 s. Worker 1's first step takes d, its
  // second 0.2 s, its third long.
  //   d = 1.9 s: it reads theta(1), too late for theta(2) at 2.1 s; worker 0 makes theta(3) at 3 s.
  //   d = 2.05 s: it reads theta(2), and makes theta(3) at 2.25 s.
  // So slower links or slower workers can make such training faster, and no law excludes that. If late work is
  // abandoned (the next test), a law does.
  const auto end_s = [](double first_s) {
    BackupWorkers o = free_backups(2, 1, 0.25, 0.75);
    o.aggregate = 1;
    o.steps = 3;
    o.factor = [=](int worker, int step) { return worker == 0 ? 1.0 : step == 0 ? first_s : step == 1 ? 0.2 : 9.0; };
    return only(rows_of(o), kUpdate).back().time_s;
  };
  CHECK(end_s(1.9) == Approx(3));
  CHECK(end_s(2.05) == Approx(2.25));
}

TEST_CASE("longer ways never make backup workers faster where late work is abandoned, and in the mean nowhere") {
  const auto end_s = [](const BackupWorkers& o, double latency_s) {
    return in_child([&] {
      ClusterSpec spec = tests::nvswitch_cluster(static_cast<int>(o.workers.size()) + 1, 1);
      spec.nic.link.latency_s = latency_s;
      Cluster cluster(spec, spec.nodes);
      return std::vector<double>{replay_actors(backup_workers(o), cluster, Fidelity::fast).end_s};
    })[0];
  };
  for (bool is_interrupted : {true, false}) {
    double sum_s = 0, longer_sum_s = 0;
    for (std::uint64_t trial = 0; trial < 40; ++trial) {
      const int workers = 3 + static_cast<int>(trial % 6);
      BackupWorkers o = free_backups(workers, 1, 0.4, 0.6);
      for (int worker = 0; worker < workers; ++worker) o.workers[to_index(worker)] = {Place::Kind::node, worker + 1};
      o.aggregate = 1 + static_cast<int>(trial % (to_index(workers) - 1));
      o.steps = 20;
      o.is_interrupted = is_interrupted;
      DelaySpec spec;
      spec.kind = DelaySpec::Kind::lognormal;
      spec.shape = 0.5;
      const Delay delay(spec);
      o.factor = [&](int worker, int step) { return delay.draw(trial, worker, step); };
      const double once_s = end_s(o, 5e-3), twice_s = end_s(o, 10e-3);
      INFO("trial " << trial << ", " << o.aggregate << " of " << workers);
      if (is_interrupted) CHECK(twice_s > once_s);
      sum_s += once_s;
      longer_sum_s += twice_s;
    }
    CHECK(longer_sum_s > sum_s);
  }
}

TEST_CASE("the server adds gradients at its own rate") {
  // 2 workers, free network, 1 s of work; each gradient of 1 GB is added at 4 GB/s: 0.25 s. They come together: 1.5 s.
  BackupWorkers o = free_backups(2, 1, 0.5, 0.5);
  o.shards[0].bytes = 1'000'000'000;
  o.apply_rate_bytes_per_s = 4e9;
  CHECK(only(rows_of(o), kUpdate)[0].time_s == Approx(1.5).epsilon(1e-12));
}

TEST_CASE("impossible numbers of gradients are refused") {
  BackupWorkers o = free_backups(2, 1, 1, 1);
  for (int aggregate : {0, 3}) {
    o.aggregate = aggregate;
    CHECK_THROWS_AS(backup_workers(o), std::invalid_argument);
  }
}
