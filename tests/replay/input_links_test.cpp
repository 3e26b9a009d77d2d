// Input that crosses the cluster's links: copies to the GPUs and reads from a file server, with and without concurrent
// messages.
#include <algorithm>
#include <stdexcept>

#include "sim/point/point.hpp"
#include "sim/schedule/program.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;
using lockstep::tests::SmallFiles;
using Source = Work::Source;

namespace {

constexpr double kServer_bytes_per_s = 20e9;

void remove_latencies(ClusterSpec& spec) {
  PcieTreeSpec& pcie = spec.intra_node.pcie;
  for (LinkSpec* link : {&spec.intra_node.gpu_link, &pcie.gpu_link, &pcie.switch_uplink, &pcie.socket_link,
                         &spec.nic.link, &spec.fabric.link})
    link->latency_s = 0;
}

// Two PCIe switches on two sockets: links of GPUs and switches 11 GB/s, between the sockets 9 GB/s, memory 50 GB/s.
ClusterSpec pcie_node(int gpus) {
  ClusterSpec spec = tests::pcie_cluster(1, gpus);
  remove_latencies(spec);
  return spec;
}

// Nodes of one GPU: NIC 12.5 GB/s, the GPU's PCIe link 25 GB/s.
ClusterSpec nodes_of_one(int nodes) {
  ClusterSpec spec = tests::nvswitch_cluster(nodes, 1);
  remove_latencies(spec);
  return spec;
}

// Both GPUs send each other `bytes`.
Plan plan_both_ways(std::int64_t bytes) {
  return {"both ways", 2, bytes, {{Transfers({{0, 1, bytes}, {1, 0, bytes}}), 1}}};
}

// One iteration: every GPU copies its input, then computes for 1 ms. In parallel, all send each other `message_bytes`,
// if any. The order of the two in the program does not matter.
Program one_iteration(int gpus, Source source, std::int64_t copy_bytes, std::int64_t message_bytes) {
  Enqueue gpu(gpus, {"input", "compute", "all-reduce", "end"});
  gpu.begin_iteration();
  const int copied = gpu.copy_over_links(0, "copy", source, copy_bytes, {});
  std::vector<int> all{gpu.compute(1, "compute", 1e-3, {copied})};
  if (message_bytes > 0)
    all.push_back(gpu.collective(2, "message", gpu.add_plan(plan_both_ways(message_bytes)), 0, {}));
  gpu.end_iteration(gpu.host(3, "end", 0, all));
  return gpu.finish();
}

struct Ends {
  double copy_s;
  double message_s;  // 0 without one
};

// The end times of the last GPU.
Ends replay_by(const std::string& method, const ClusterSpec& spec, const Program& program) {
  const std::vector<double> ends = in_child([&] {
    Cluster cluster(spec, program.gpus, {true, spec.nodes > 1 ? kServer_bytes_per_s : 0});
    const Jitter even = [](int, int) { return 1.0; };
    Replay replay;
    ReplayOptions options;
    options.timeline_gpus = {program.gpus - 1};
    if (method == "max-plus" && !replay_max_plus(program, cluster, even, options, replay))
      throw std::runtime_error("max-plus declines");
    if (method == "messages") replay = replay_messages(program, cluster, even, options);
    if (method == "fair flows") replay = replay_flows(program, cluster, even, options);
    if (method == "closed form") {
      replay = replay_analytic(program, cluster, 1);
      return std::vector<double>{replay.iteration_end_s[0] - 1e-3, 0};
    }
    const bool has_message = program.work[2].kind == Work::Kind::collective;
    return std::vector<double>{replay.timelines[0].end_s[0], has_message ? replay.timelines[0].end_s[2] : 0};
  });
  return {ends[0], ends[1]};
}

// Trains ResNet-32 on two nodes of four GPUs below two switches, with a third node for the file server.
Json training() {
  Json scenario = tests::small_scenario();
  scenario["model"] = "resnet32_crossbow";
  scenario["gpus"] = {8};
  scenario["compute"]["rates"] = Json::parse(R"([{"batch": 16, "rate": "4000 images/s"}])");
  scenario["communication"] = Json::parse(R"({"all_reduce": "ring", "fusion_threshold": "500 kB"})");
  scenario["input"] = Json::parse(R"({"bytes_per_sample": "1 MB"})");
  return scenario;
}

Json machine() {
  Json cluster = tests::small_cluster();
  cluster["nodes"] = 3;
  cluster["gpus_per_node"] = 4;
  cluster["intra_node"]["switches"] = Json::parse(R"([{"socket": 0, "gpus": [0, 1]}, {"socket": 1, "gpus": [2, 3]}])");
  cluster["intra_node"]["socket_link"] = Json::parse(R"({"bandwidth": "9 GB/s", "latency": "0.5 us"})");
  return cluster;
}

PointResult predict(const SmallFiles& files, const std::string& fidelity, const tests::Settings& settings) {
  const Scenario scenario = files.one(settings);
  PointRequest request;
  request.gpus = scenario.gpus[0];
  request.batch_per_gpu = 16;
  request.fidelity = choice_named<Fidelity>(fidelity, "fidelity");
  request.iterations = 4;
  return predict_points({{&scenario, request}}, 1).at(0);
}

const std::pair<std::string, std::string> kOnLinks{"/input/traffic", "links"};

}  // namespace

TEST_CASE("a copy alone takes its bytes over the narrowest link") {
  // 25 MB over the GPU's 25 GB/s.
  for (const std::string method : {"messages", "fair flows", "max-plus", "closed form"}) {
    INFO(method);
    const Program alone = one_iteration(1, Source::host_memory, 25'000'000, 0);
    CHECK(replay_by(method, nodes_of_one(1), alone).copy_s == Approx(1e-3).epsilon(1e-9));
    // 12.5 MB are read over the NIC of 12.5 GB/s, from a server of 20 GB/s.
    const Program read = one_iteration(1, Source::file_server, 12'500'000, 0);
    CHECK(replay_by(method, nodes_of_one(2), read).copy_s == Approx(1e-3).epsilon(1e-9));
  }
}

TEST_CASE("copies share the uplink of their switch, and readers the file server") {
  // Two GPUs share each switch: 5.5 GB/s each.
  const Program copies = one_iteration(4, Source::host_memory, 11'000'000, 0);
  // Two nodes have 10 of the server's 20 GB/s each; four have 5.
  const Program two = one_iteration(2, Source::file_server, 10'000'000, 0);
  const Program four = one_iteration(4, Source::file_server, 10'000'000, 0);
  for (const std::string method : {"messages", "fair flows", "closed form"}) {
    INFO(method);
    CHECK(replay_by(method, pcie_node(4), copies).copy_s == Approx(2e-3).epsilon(1e-9));
    CHECK(replay_by(method, nodes_of_one(3), two).copy_s == Approx(1e-3).epsilon(1e-9));
    CHECK(replay_by(method, nodes_of_one(5), four).copy_s == Approx(2e-3).epsilon(1e-9));
  }
  CHECK_THROWS(replay_by("max-plus", pcie_node(4), copies));
}

TEST_CASE("a copy and a message on one PCIe switch, by hand") {
  // GPU 1 gets 110 MB of input over its switch's 11 GB/s, and from GPU 0 55 MB, alone at the sockets' 9 GB/s. Both
  // together get 5.5 GB/s: the message ends after 10 ms. The copy then has 55 MB left, at 11 GB/s: 15 ms.
  const Program program = one_iteration(2, Source::host_memory, 110'000'000, 55'000'000);
  for (const std::string method : {"messages", "fair flows"}) {
    INFO(method);
    const Ends ends = replay_by(method, pcie_node(2), program);
    CHECK(ends.message_s == Approx(10e-3).epsilon(1e-9));
    CHECK(ends.copy_s == Approx(15e-3).epsilon(1e-9));
  }
  // What starts first is left as it was, 10 ms of copy; what comes then takes twice the 5 ms that the switch needs for
  // it.
  CHECK(replay_by("closed form", pcie_node(2), program).copy_s == Approx(10e-3).epsilon(1e-9));
}

TEST_CASE("reading from a file server and a message on one NIC, by hand") {
  // The readers get 62.5 MB at 10 GB/s each, half of the server. While messages of 25 MB run, they share the NIC's 12.5
  // GB/s, 6.25 each; the messages end after 4 ms. The other 37.5 MB take 3.75 ms more.
  const Program program = one_iteration(2, Source::file_server, 62'500'000, 25'000'000);
  for (const std::string method : {"messages", "fair flows"}) {
    INFO(method);
    const Ends ends = replay_by(method, nodes_of_one(3), program);
    CHECK(ends.message_s == Approx(4e-3).epsilon(1e-9));
    CHECK(ends.copy_s == Approx(7.75e-3).epsilon(1e-9));
  }
}

TEST_CASE("staged messages and copies share the memory of a socket, by hand") {
  // Without peer access between sockets a message is staged in the sender's memory, of 11 GB/s here. GPU 0's copy reads
  // from that memory, too: 5.5 GB/s each while GPU 0 sends.
  ClusterSpec spec = pcie_node(2);
  spec.intra_node.pcie.peer_across_sockets = false;
  spec.host.memory_bandwidth_bytes_per_s = 11e9;
  spec.intra_node.pcie.switch_uplink.bandwidth_bytes_per_s = spec.intra_node.pcie.gpu_link.bandwidth_bytes_per_s = 40e9;
  // The times are as before: 55 MB after 10 ms, 110 MB after 15 ms.
  const Program program = one_iteration(2, Source::host_memory, 110'000'000, 55'000'000);
  for (const std::string method : {"messages", "fair flows"}) {
    const Ends ends = replay_by(method, spec, program);
    CHECK(ends.message_s == Approx(10e-3).epsilon(1e-9));
    CHECK(ends.copy_s == Approx(15e-3).epsilon(1e-9));
  }
}

TEST_CASE("an iteration with its input on the links: fast equals messages, the closed form is near") {
  for (const std::string algorithm : {"s-sgd", "parameter-server", "sharded", "local-sgd", "theano-mpi", "sma"})
    for (const bool reads : {false, true}) {
      SmallFiles files(training(), machine());
      files.scenario["algorithm"] = algorithm;
      if (algorithm == "sma") files.scenario["learners"] = Json::parse(R"({"fill": 0.6, "per_gpu": 2})");
      if (reads) {
        files.scenario["input"]["file_bytes_per_sample"] = "300 kB";
        files.scenario["input"]["nfs_bandwidth"] = "20 GB/s";
      }
      INFO(algorithm << (reads ? ", reading" : ""));
      const double messages_s = predict(files, "message", {kOnLinks}).mean_iteration_s();
      CHECK(predict(files, "fast", {kOnLinks}).mean_iteration_s() == Approx(messages_s).epsilon(1e-3));
      CHECK(predict(files, "analytic", {kOnLinks}).mean_iteration_s() == Approx(messages_s).epsilon(0.15));
    }
}

TEST_CASE("law: input on its links costs no less than beside them, and nothing where it is little") {
  SmallFiles files(training(), machine());
  for (const std::string fidelity : {"message", "fast", "analytic"}) {
    INFO(fidelity);
    const auto iteration_s = [&](const std::string& bytes, bool on_links) {
      tests::Settings settings{{"/input/bytes_per_sample", bytes}};
      if (on_links) settings.push_back(kOnLinks);
      return predict(files, fidelity, settings).mean_iteration_s();
    };
    CHECK(iteration_s("1 B", true) == Approx(iteration_s("1 B", false)).epsilon(1e-3));
    for (const char* bytes : {"100 kB", "1 MB", "3 MB"})
      CHECK(iteration_s(bytes, true) >= iteration_s(bytes, false) * (1 - 1e-9));
    // 16 images of 3 MB for each of two GPUs over their switch's 12 GB/s: 8 ms. One GPU's link alone takes half of
    // that.
    CHECK(iteration_s("3 MB", true) >= 8e-3 * (1 - 1e-9));
    CHECK(iteration_s("3 MB", false) < 5e-3);
  }
}

TEST_CASE("servers of their own get no input, and the file server is no node of the training") {
  Json scenario = training();
  scenario["algorithm"] = "parameter-server";
  scenario["gpus"] = {4};
  scenario["parameter_server"] = Json::parse(R"({"placement": "separate", "servers": 1})");
  scenario["input"]["file_bytes_per_sample"] = "100 kB";
  scenario["input"]["nfs_bandwidth"] = "20 GB/s";
  const SmallFiles files(scenario, machine());
  const PointResult aside = predict(files, "fast", {}), links = predict(files, "fast", {kOnLinks});
  CHECK(links.nodes == aside.nodes);
  CHECK(links.bytes_sent_per_gpu == aside.bytes_sent_per_gpu);
  CHECK(links.mean_iteration_s() == Approx(predict(files, "message", {kOnLinks}).mean_iteration_s()).epsilon(1e-3));
}
