// Flows that share links: max-min fair after every start and end, served exactly their bytes, the same as SimGrid's.
#include "sim/replay/fair_flows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/replay/actors.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

struct Running {
  std::vector<int> links;
  double left_bytes;
  double most;
};

// Every flow is as fast as it may be, or has a link that is full and on which it is the fastest; no link carries more
// than its bandwidth.
void check_max_min_fair(FairFlows& flows, const std::map<int, Running>& running, const std::vector<double>& bandwidth) {
  std::vector<double> load(bandwidth.size(), 0), fastest(bandwidth.size(), 0);
  for (const auto& [flow, what] : running)
    for (int l : what.links) {
      load[to_index(l)] += flows.rate(flow);
      fastest[to_index(l)] = std::max(fastest[to_index(l)], flows.rate(flow));
    }
  for (std::size_t l = 0; l < bandwidth.size(); ++l) CHECK(load[l] <= bandwidth[l] * (1 + 1e-9));
  for (const auto& [flow, what] : running) {
    const double rate = flows.rate(flow);
    const auto is_bottleneck = [&, rate](int l) {
      return load[to_index(l)] >= bandwidth[to_index(l)] * (1 - 1e-9) && rate >= fastest[to_index(l)] * (1 - 1e-9);
    };
    CHECK(rate <= what.most * (1 + 1e-9));
    CHECK((rate >= what.most * (1 - 1e-9) || std::any_of(what.links.begin(), what.links.end(), is_bottleneck)));
  }
}

}  // namespace

TEST_CASE("three flows on two links, by hand") {
  // Links of 10 and 4 B/s. A: 0, 12 bytes; B: 0 and 1, 4 bytes; C: 1, 2 bytes. B and C share link 1, 2 B/s each, A has
  // what B leaves of link 0, 8 B/s. At 1 s C ends, B has 2 bytes left and now all of link 1, 4 B/s; A has 4 left at
  // 6 B/s. At 1.5 s B ends, A has 1 left at 10 B/s and ends at 1.6 s.
  FairFlows flows({10, 4});
  const int a = flows.start(flows.add_route({0}), 12), b = flows.start(flows.add_route({0, 1}), 4),
            c = flows.start(flows.add_route({1}), 2);
  CHECK(flows.rate(a) == Approx(8));
  CHECK(flows.rate(b) == Approx(2));
  CHECK(flows.rate(c) == Approx(2));
  CHECK(flows.next_end_s() == Approx(1));
  CHECK(flows.advance(0.5).empty());
  CHECK(flows.advance(1) == std::vector<int>{c});
  CHECK(flows.rate(b) == Approx(4));
  CHECK(flows.rate(a) == Approx(6));
  CHECK(flows.next_end_s() == Approx(1.5));
  CHECK(flows.advance(1.5) == std::vector<int>{b});
  CHECK(flows.rate(a) == Approx(10));
  CHECK(flows.next_end_s() == Approx(1.6));
  CHECK(flows.advance(1.6) == std::vector<int>{a});
  CHECK(std::isinf(flows.next_end_s()));
}

TEST_CASE("rates are max-min fair after every start and end, and flows get exactly their bytes") {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const bool are_links_equal = seed > 12;  // so that many flows have equal rates
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    std::vector<double> bandwidth;
    for (int l = 0; l < 12; ++l) bandwidth.push_back(are_links_equal ? 12 : 1 + draw(40));
    FairFlows flows(bandwidth);
    std::map<int, Running> running;
    double now_s = 0;
    int started = 0;
    while (started < 150 || !running.empty()) {
      for (int n = draw(4); n > 0 && started < 150; --n, ++started) {
        std::vector<int> links;
        for (int l = 0; l < 12; ++l)
          if (draw(5) == 0) links.push_back(l);
        if (links.empty()) links.push_back(draw(12));
        const double bytes = are_links_equal ? 24 * (1 + draw(3)) : 1 + draw(100);
        const double most = draw(4) == 0 ? 1 + draw(10) : 1e9;
        const int flow = flows.start(flows.add_route(links), bytes, most);
        REQUIRE(running.emplace(flow, Running{links, bytes, most}).second);
      }
      if (running.empty()) continue;
      check_max_min_fair(flows, running, bandwidth);
      const double end_s = flows.next_end_s(), until_s = draw(3) == 0 ? now_s + (end_s - now_s) / 2 : end_s;
      for (auto& [flow, what] : running) what.left_bytes -= flows.rate(flow) * (until_s - now_s);
      now_s = until_s;
      const std::vector<int> ended = flows.advance(now_s);
      CHECK(ended.empty() == (until_s < end_s));
      for (int flow : ended) {
        CHECK(std::abs(running.at(flow).left_bytes) < 1e-6);
        running.erase(flow);
      }
      for (const auto& [flow, what] : running) CHECK(what.left_bytes > 0);
    }
  }
}

TEST_CASE("a link that its neighbours cannot fill is no limit, until a route comes by which they can") {
  // Link 2 carries 7 B/s; routes 0-2 and 1-2 bring 3 B/s each, which always pass. A third one makes 9.
  FairFlows flows({3, 3, 7, 3});
  const int a = flows.start(flows.add_route({0, 2}), 100), b = flows.start(flows.add_route({1, 2}), 100);
  CHECK(flows.rate(a) == Approx(3));
  CHECK(flows.rate(b) == Approx(3));
  const int c = flows.start(flows.add_route({2, 3}), 100);
  for (int flow : {a, b, c}) CHECK(flows.rate(flow) == Approx(7.0 / 3));
}

TEST_CASE("flows that join and leave one link one after the other share it evenly") {
  // Flow i of n starts at i s with 10 B, on its own link of 10 B/s and on a common one of 1 B/s. i + 1 flows get
  // 1/(i + 1) B/s each. All have the same bytes, so they end in the order of their starts.
  constexpr int kFlows = 20;
  std::vector<double> bandwidths(kFlows, 10);
  bandwidths.push_back(1);
  FairFlows flows(bandwidths);
  std::vector<int> numbers;
  for (int i = 0; i < kFlows; ++i) {
    flows.advance(i);
    numbers.push_back(flows.start(flows.add_route({i, kFlows}), 10));
    for (int f : numbers) CHECK(flows.rate(f) == Approx(1.0 / (i + 1)));
  }
  double served = 0, now_s = kFlows - 1;  // of the flow that ends next
  for (int i = 1; i < kFlows; ++i) served += 1.0 / i;
  for (int i = 0; i < kFlows; ++i) {
    now_s += (10 - served) * (kFlows - i);
    served = 10;
    CHECK(flows.next_end_s() == Approx(now_s));
    CHECK(flows.advance(flows.next_end_s()) == std::vector<int>{numbers[to_index(i)]});
    for (int later = i + 1; later < kFlows; ++later)
      CHECK(flows.rate(numbers[to_index(later)]) == Approx(1.0 / (kFlows - 1 - i)));
    served -= 1.0 / (i + 1);  // the next one started when i + 1 flows were there
  }
}

TEST_CASE("a flow that may not go faster leaves the rest of its links to others") {
  // 10 B/s: one flow at most at 2 B/s, two others 4 B/s each. When these have ended, it still has 2.
  FairFlows flows({10});
  const int route = flows.add_route({0}), slow = flows.start(route, 10, 2), a = flows.start(route, 4),
            b = flows.start(route, 4, 100);
  CHECK(flows.rate(slow) == Approx(2));
  CHECK(flows.rate(a) == Approx(4));
  CHECK(flows.rate(b) == Approx(4));
  CHECK(flows.advance(flows.next_end_s()).size() == 2);
  CHECK(flows.rate(slow) == Approx(2));
  CHECK(flows.next_end_s() == Approx(5));
}

TEST_CASE("fair flows refuse links without bandwidth, empty routes, links passed twice and flows of nothing") {
  CHECK_THROWS_AS(FairFlows({1, 0}), std::invalid_argument);
  FairFlows flows({1, 1});
  CHECK_THROWS_AS(flows.add_route({}), std::invalid_argument);
  CHECK_THROWS_AS(flows.add_route({0, 1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(flows.start(flows.add_route({0}), 0), std::invalid_argument);
}

namespace {

// Eight GPUs on four nodes send 40 messages each, some of them empty, to each other and to the nodes' CPUs, up to three
// at once. When each message arrived, by message.
std::vector<double> arrivals(const ClusterSpec& spec, unsigned seed, Fidelity fidelity) {
  return in_child([&] {
    Cluster cluster(spec, 8);
    cluster.set_message_overhead({1e-6, 3e-6});
    const auto gpu = [seed](ActorContext& me) {
      std::mt19937 random(100 * seed + static_cast<unsigned>(me.self()));
      std::vector<std::unique_ptr<Sending>> sendings;
      for (int n = 0; n < 40; ++n) {
        const int to = static_cast<int>(random() % 12);
        const std::int64_t bytes = static_cast<std::int64_t>(random() % 5) * 1'234'567;
        if (to == me.self()) continue;
        sendings.push_back(me.start_send(to, {-1, 0, bytes, me.self() * 100 + n}));
        if (sendings.size() > 2) sendings[sendings.size() - 3]->wait();
        if (random() % 2 == 0) me.compute("work", double(random() % 1000) * 1e-7);
      }
      for (const auto& sending : sendings) sending->wait();
      for (;;) me.log("arrived", me.receive().value);
    };
    const auto cpu = [](ActorContext& me) {
      for (;;) me.log("arrived", me.receive().value);
    };
    std::vector<Actor> actors;
    for (int self = 0; self < 8; ++self) actors.push_back({"gpu", {Place::Kind::gpu, self}, gpu, true});
    for (int node = 0; node < 4; ++node) actors.push_back({"cpu", {Place::Kind::node, node}, cpu, true});
    actors.push_back({"clock", {Place::Kind::node, 0}, [](ActorContext& me) { me.sleep(1); }});
    std::map<std::int64_t, double> by_message;
    for (const ActorEvent& e : replay_actors(actors, cluster, fidelity).log) by_message[e.value] = e.time_s;
    std::vector<double> flat;
    for (const auto& [message, time_s] : by_message) flat.insert(flat.end(), {double(message), time_s});
    return flat;
  });
}

}  // namespace

TEST_CASE("messages as fair flows arrive when SimGrid's do") {
  // In some of these cases SimGrid 3.32 is not quite max-min fair: its lazy update of rates misses a flow now and then,
  // for a few microseconds. With network/optim:Full, which recomputes all flows at every change, it agrees in all
  // cases.
  ClusterSpec staged = tests::nvswitch_cluster(4, 2);
  staged.nic.gpudirect = false;
  int cases = 0, equal = 0;
  for (const ClusterSpec& spec : {tests::nvswitch_cluster(4, 2), staged, tests::pcie_cluster(4, 2)})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const std::vector<double> reference = arrivals(spec, seed, Fidelity::message),
                                fast = arrivals(spec, seed, Fidelity::fast);
      REQUIRE(reference.size() == fast.size());
      REQUIRE(reference.size() > 2 * 250);
      double most = 0;
      for (std::size_t i = 0; i < fast.size(); i += 2) {
        CHECK(fast[i] == reference[i]);
        most = std::max(most, std::abs(fast[i + 1] / reference[i + 1] - 1));
      }
      INFO(spec.name << ", seed " << seed);
      CHECK(most < 0.01);
      ++cases;
      equal += most < 1e-9;
    }
  CHECK(2 * equal >= cases);
}
