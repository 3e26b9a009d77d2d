// Actors on a cluster: messages take what their route says, arrivals queue, GPUs are shared, mistakes are found.
#include "sim/replay/actors.hpp"

#include <stdexcept>
#include <tuple>

#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

Place gpu(int index) {
  return {Place::Kind::gpu, index};
}
Place node(int index) {
  return {Place::Kind::node, index};
}

// Replays on NVSwitch nodes of 2 GPUs (GPU links 40 GB/s and 1 us, NICs 12.5 GB/s): values of the log, end, messages.
std::vector<double> replayed(const std::vector<Actor>& actors, int nodes = 1, double overhead_s = 0) {
  return in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(nodes, 2), 2 * nodes);
    cluster.set_message_overhead({overhead_s, overhead_s});
    const ActorReplay result = replay_actors(actors, cluster);
    std::vector<double> times;
    for (const ActorEvent& event : result.log) times.push_back(event.time_s);
    times.push_back(result.end_s);
    return times;
  });
}

std::string error_of(const std::vector<Actor>& actors) {
  try {
    replayed(actors);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a message between actors takes overhead + latency + bytes/bandwidth") {
  // GPU 0 -> GPU 1 takes 3 us of software + 2 x 1 us + 4 MB at 40 GB/s = 105 us, blocking or not; 0 bytes take 5 us.
  const auto receiver = [](ActorContext& me) {
    const Message message = me.receive();
    me.log("from", message.from);
  };
  for (bool blocking : {true, false})
    for (std::int64_t bytes : {4'000'000, 0}) {
      const auto sender = [&](ActorContext& me) {
        if (blocking) me.send(1, {-1, 7, bytes, 0});
        if (!blocking) me.start_send(1, {-1, 7, bytes, 0})->wait();
        me.log("sent", 0);
      };
      const std::vector<double> times = replayed({{"a", gpu(0), sender}, {"b", gpu(1), receiver}}, 1, 3e-6);
      REQUIRE(times.size() == 3);
      CHECK(times[0] == Approx(5e-6 + double(bytes) / 40e9).epsilon(1e-9));
      CHECK(times[1] == times[0]);
      CHECK(times[2] == times[0]);
    }
}

TEST_CASE("actors of one place exchange messages in no time, those of a node's CPU do not") {
  const auto sender = [](ActorContext& me) { me.send(1, {-1, 0, 1 << 30, 0}); };
  const auto receiver = [](ActorContext& me) { me.receive(); };
  CHECK(replayed({{"a", gpu(0), sender}, {"b", gpu(0), receiver}}).back() == 0);
  CHECK(replayed({{"a", node(0), sender}, {"b", node(0), receiver}}).back() == 0);
  // GPU to CPU goes over PCIe (25 GB/s, 0.8 us) into host memory at 50 GB/s.
  CHECK(replayed({{"a", gpu(0), sender}, {"b", node(0), receiver}}).back() ==
        Approx(0.8e-6 + double(1 << 30) / 25e9).epsilon(1e-3));
}

TEST_CASE("messages that meet on a link share it, and arrive in the order of their ends") {
  // Both of GPU 0's messages leave over its one link of 40 GB/s: 4 MB and 8 MB. Together until the small one is over:
  // 2 us + 2 x 4 MB/40 GB/s = 202 us; the other has 4 MB left: 302 us. The large one was sent first.
  const auto sender = [](ActorContext& me) {
    const auto large = me.start_send(1, {-1, 0, 8'000'000, 8});
    const auto small = me.start_send(1, {-1, 0, 4'000'000, 4});
    large->wait();
    small->wait();
  };
  const auto receiver = [](ActorContext& me) {
    for (std::int64_t expected : {4, 8}) {
      if (me.receive().value != expected) throw std::runtime_error("wrong order");
      me.log("arrived", expected);
    }
  };
  const std::vector<double> times = replayed({{"a", gpu(0), sender}, {"b", gpu(1), receiver}});
  CHECK(times[0] == Approx(202e-6).epsilon(1e-9));
  CHECK(times[1] == Approx(302e-6).epsilon(1e-9));
}

TEST_CASE("no link carries more than its bandwidth: a node's CPU sends to GPUs below two switches at once") {
  // Uplinks of 6 GB/s and below them 12 GB/s for each GPU: two messages of 6 MB below a switch take 2 ms, one 1 ms. The
  // uplinks fill at once, and host memory, which all messages cross, does not.
  ClusterSpec spec = tests::pcie_cluster(1, 4);
  spec.intra_node.pcie.switches[1].socket = 0;
  spec.intra_node.pcie.gpu_link.bandwidth_bytes_per_s = 12e9;
  spec.intra_node.pcie.switch_uplink.bandwidth_bytes_per_s = 6e9;
  for (Fidelity fidelity : {Fidelity::message, Fidelity::fast})
    for (int receivers : {1, 2, 3, 4}) {
      std::vector<Actor> actors;
      for (int i = 0; i < receivers; ++i)
        actors.push_back({"gpu", gpu(i), [](ActorContext& me) {
                            me.receive();
                            me.log("got", me.self());
                          }});
      actors.push_back({"cpu", node(0), [receivers](ActorContext& me) {
                          for (int i = 0; i < receivers; ++i) me.start_send(i, {-1, 0, 6'000'000, 0});
                        }});
      const std::vector<double> times = in_child([&] {
        Cluster cluster(spec, 4);
        std::vector<double> at(4, 0);
        for (const ActorEvent& event : replay_actors(actors, cluster, fidelity).log)
          at[static_cast<std::size_t>(event.value)] = event.time_s;
        return at;
      });
      for (int i = 0; i < receivers; ++i) {
        INFO(receivers << " receivers, GPU " << i << ", " << name_of(fidelity));
        const bool is_alone_below_its_switch = receivers == 1 || (receivers == 3 && i == 2);
        CHECK(times[static_cast<std::size_t>(i)] == Approx(is_alone_below_its_switch ? 1e-3 : 2e-3).margin(1e-5));
      }
    }
}

TEST_CASE("arrivals wait in a queue; a receiver may pick by tag and may give up") {
  const auto sender = [](ActorContext& me) {
    me.send(1, {-1, 1, 0, 10});  // 2 us
    me.send(1, {-1, 2, 0, 20});  // 4 us
    me.sleep(1);
    me.send(1, {-1, 3, 0, 30});
  };
  const auto receiver = [](ActorContext& me) {
    me.sleep(0.5);
    const std::int64_t second = me.receive({2}).value, first = me.receive({1, 2}).value;
    me.log("both", 100 * second + first);
    if (me.receive_within(0.1, {3})) throw std::runtime_error("came too early");
    me.log("gave up", 0);
    if (!me.receive_within(10, {3})) throw std::runtime_error("did not come");
    me.log("came", 0);
    if (me.receive_within(0)) throw std::runtime_error("there was nothing left");
  };
  const std::vector<double> times = replayed({{"a", gpu(0), sender}, {"b", gpu(1), receiver}});
  CHECK(times[0] == Approx(0.5));
  CHECK(times[1] == Approx(0.6));
  CHECK(times[2] == Approx(1 + 3 * 2e-6).epsilon(1e-9));
}

TEST_CASE("a message that arrives in the moment of the timeout leaves the next receive as it was") {
  const auto sender = [](ActorContext& me) {
    me.sleep(1);
    me.send(1, {-1, 1, 0, 0});
    me.sleep(1);
    me.send(1, {-1, 1, 0, 0});
  };
  const auto receiver = [](ActorContext& me) {
    int received = 0;
    if (me.receive_within(1)) ++received;
    while (received < 2) {
      me.receive();
      ++received;
    }
    me.log("all", received);
  };
  CHECK(replayed({{"a", gpu(0), sender}, {"b", gpu(0), receiver}})[0] == Approx(2));
}

TEST_CASE("work on a GPU slows down when it fills more than the GPU together") {
  // Two pieces of 1 s run together. Filling 0.5 each: no loss, 1 s. Filling 0.8 each: 1.6 of the GPU, 1.6 s. 0.8 and
  // 0.2: 1 s.
  for (const auto& [first, second, expected] :
       {std::tuple{0.5, 0.5, 1.0}, {0.8, 0.8, 1.6}, {0.8, 0.2, 1.0}, {1.0, 1.0, 2.0}}) {
    const auto work = [](double fill) { return [fill](ActorContext& me) { me.compute("work", 1, fill); }; };
    CHECK(replayed({{"a", gpu(0), work(first)}, {"b", gpu(0), work(second)}}).back() == Approx(expected).epsilon(1e-9));
    // On two GPUs, or on a CPU, they do not meet.
    CHECK(replayed({{"a", gpu(0), work(first)}, {"b", gpu(1), work(second)}}).back() == Approx(1).epsilon(1e-9));
    CHECK(replayed({{"a", node(0), work(first)}, {"b", node(0), work(second)}}).back() == Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("the simulation ends with the last actor that is no daemon, messages on their way or not") {
  const auto echo = [](ActorContext& me) {
    for (;;) {
      const Message question = me.receive();
      me.start_send(question.from, {-1, 0, 1'000'000'000, 0});
    }
  };
  const auto asker = [](ActorContext& me) {
    me.send(1, {-1, 0, 0, 0});
    me.sleep(1e-3);
  };
  CHECK(replayed({{"asker", gpu(0), asker}, {"echo", gpu(1), echo, true}}).back() == Approx(2e-6 + 1e-3).epsilon(1e-9));
}

TEST_CASE("bytes, messages and busy time are counted per actor") {
  const std::vector<double> counts = in_child([] {
    Cluster cluster(tests::nvswitch_cluster(2, 2), 4);
    const auto worker = [](ActorContext& me) {
      me.compute("work", 0.25);
      me.start_send(2, {-1, 0, 100 + me.self(), 0});
      me.send(2, {-1, 0, 1000, 0});
    };
    const auto server = [](ActorContext& me) {
      for (int n = 0; n < 4; ++n) me.receive();
    };
    const ActorReplay r =
        replay_actors({{"a", gpu(0), worker}, {"b", gpu(2), worker}, {"s", node(1), server}}, cluster);
    std::vector<double> all{double(r.messages)};
    for (std::size_t a = 0; a < 3; ++a) {
      all.push_back(double(r.bytes_sent[a]));
      all.push_back(r.busy_s[a]);
    }
    return all;
  });
  CHECK(counts == std::vector<double>{4, 1100, 0.25, 1101, 0.25, 0, 0});
}

TEST_CASE("actors that all wait, and actors that throw, end the replay with an error") {
  const auto waits = [](ActorContext& me) { me.receive(); };
  CHECK(error_of({{"a", gpu(0), waits}, {"b", gpu(1), waits}}) == "the simulation deadlocked: every actor waits");
  const auto throws = [](ActorContext& me) {
    me.sleep(1);
    throw std::runtime_error("the worker's own error");
  };
  CHECK(error_of({{"a", gpu(0), waits}, {"b", gpu(1), throws}}) == "the worker's own error");
  const auto wrong = [](ActorContext& me) { me.send(5, {}); };
  CHECK(error_of({{"a", gpu(0), wrong}}) == "a: a message needs a receiver and bytes >= 0");
  CHECK_THROWS(replayed({{"a", gpu(9), waits}}));
  CHECK_THROWS(replayed({{"a", node(1), waits}}));
}
