// Invariants of synchronous schedules, read from the log of their events. All bytes sent are received. Every GPU's
// gradient is in every sum. All replicas have the same version in every pass.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

constexpr int kIterations = 4;
constexpr int kBatch = 8;

Scenario conserved_scenario(Algorithm algorithm) {
  Scenario s;
  s.name = name_of(algorithm);
  s.algorithm = algorithm;
  s.cluster = tests::pcie_cluster(8, 2);
  s.model = model::zoo_graph("lenet_crossbow");
  s.gpus = {4};
  s.baseline_gpus = 2;
  s.batch = {{64, kBatch}};
  s.compute.launch_s = 5e-6;
  s.compute.compute_efficiency = {{1, 0.5}};
  s.compute.memory_efficiency = 0.8;
  s.communication.message_overhead_s = 5e-6;
  s.communication.launch_overhead_s = 20e-6;
  s.communication.fusion_threshold_bytes = 200'000;
  s.local_sgd.period = 2;
  s.sharding = {200'000, 1, true};
  s.theano_mpi = {ParameterExchange::asa, 3e9, 5e9, 2e9};
  if (algorithm != Algorithm::parameter_server) return s;
  s.parameter_server.emplace();
  s.parameter_server->separate = true;
  s.parameter_server->servers = 2;
  s.parameter_server->pair_bytes = 500'000;
  return s;
}

struct Log {
  Program program;
  Replay replay;

  const std::vector<double>& start_s(int gpu) const { return replay.timelines[to_index(gpu)].start_s; }
  const std::vector<double>& end_s(int gpu) const { return replay.timelines[to_index(gpu)].end_s; }
  /// Works of an iteration whose name begins so, in their order.
  std::vector<int> works(int iteration, const std::string& name) const {
    std::vector<int> found;
    for (std::size_t w = 0; w < program.work.size(); ++w)
      if (program.work[w].iteration == iteration && program.work[w].name.rfind(name, 0) == 0)
        found.push_back(static_cast<int>(w));
    return found;
  }
};

Log log_of(const Scenario& s, bool as_flows) {
  const int gpus = occupied_gpus(s, s.gpus[0]);
  Cluster cluster(s.cluster, gpus);
  Log log{build_program(s, s.gpus[0], kBatch, kIterations), {}};
  ReplayOptions options;
  for (int gpu = 0; gpu < gpus; ++gpu) options.timeline_gpus.push_back(gpu);
  const Jitter uneven = [](int gpu, int draw) {
    return 1 + random_uniform(11, static_cast<std::uint64_t>(gpu), static_cast<std::uint64_t>(draw));
  };
  const Jitter jitter = workers_only(uneven, s.gpus[0]);
  log.replay = as_flows ? replay_flows(log.program, cluster, jitter, options)
                        : replay_messages(log.program, cluster, jitter, options);
  return log;
}

// Runs `count` over the logs by messages and as flows; the number of violations that it finds.
double violations(const Scenario& s, const std::function<double(const Log&)>& count) {
  double sum = 0;
  for (bool as_flows : {false, true})
    sum += tests::in_child([&] { return std::vector<double>{count(log_of(s, as_flows))}; })[0];
  return sum;
}

// Exchanges whose bytes, by work, sender and receiver, are not the same at both ends; and works whose sum is not the
// plan's.
double unequal_ends(const Log& log) {
  std::map<std::tuple<int, int, int>, std::int64_t> sent_less_received;
  std::map<int, std::int64_t> sent;
  for (const GpuTimeline& timeline : log.replay.timelines)
    for (const Exchange& e : timeline.exchanges) {
      if (e.is_send) sent[e.work] += e.bytes;
      const std::pair<int, int> way = e.is_send ? std::pair(timeline.gpu, e.peer) : std::pair(e.peer, timeline.gpu);
      sent_less_received[{e.work, way.first, way.second}] += e.is_send ? e.bytes : -e.bytes;
    }
  double wrong = 0;
  for (const auto& [exchange, difference] : sent_less_received) wrong += difference != 0;
  for (std::size_t w = 0; w < log.program.work.size(); ++w) {
    const Work& work = log.program.work[w];
    if (work.kind == Work::Kind::collective)
      wrong += sent[static_cast<int>(w)] != log.program.plans[to_index(work.plan)].bytes_sent();
  }
  return wrong;
}

// GPUs that update before all others' gradients exist, or train before they have updated.
double early_updates(const Log& log, int gpus) {
  double wrong = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const int update = log.works(iteration, "update").back(), gradient = log.works(iteration, "backward").back();
    double all_gradients_s = 0;
    for (int gpu = 0; gpu < gpus; ++gpu)
      all_gradients_s = std::max(all_gradients_s, log.end_s(gpu)[to_index(gradient)]);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      wrong += log.start_s(gpu)[to_index(update)] < all_gradients_s;
      if (iteration + 1 < kIterations)
        wrong +=
            log.start_s(gpu)[to_index(log.works(iteration + 1, "forward").front())] < log.end_s(gpu)[to_index(update)];
    }
  }
  return wrong;
}

std::string layer_of(const std::string& exchange) {
  const std::string name = exchange.substr(exchange.find(' ') + 1);
  return name.substr(0, name.find('.'));
}

// The start of the forward work of an iteration that a layer is in.
double forward_s(const Log& log, int gpu, int iteration, const std::string& layer) {
  for (int w : log.works(iteration, "forward")) {
    const Parts& parts = log.program.work[to_index(w)].parts;
    const auto is_it = [&layer](const Part& part) { return part.name == layer; };
    if (parts && std::any_of(parts->begin(), parts->end(), is_it)) return log.start_s(gpu)[to_index(w)];
  }
  throw std::logic_error("no forward pass of " + layer);
}

bool sends_in(const Log& log, int gpu, int work) {
  const std::vector<Exchange>& all = log.replay.timelines[to_index(gpu)].exchanges;
  return std::any_of(all.begin(), all.end(), [&](const Exchange& e) { return e.work == work && e.is_send; });
}

// Counts violations for a parameter server without a barrier. They are servers that send a layer before all workers'
// gradients have come, and workers whose next forward pass through a layer starts before all its new parameters have
// come.
double mixed_versions(const Log& log, int workers) {
  const int ranks = log.program.gpus;
  double wrong = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const std::vector<int> pushes = log.works(iteration, "push "), pulls = log.works(iteration, "pull ");
    wrong += pushes.empty() || pushes.size() != pulls.size();
    for (std::size_t e = 0; e < pushes.size(); ++e) {
      for (int server = workers; server < ranks; ++server)
        if (sends_in(log, server, pulls[e]))
          for (int worker = 0; worker < workers; ++worker)
            wrong += log.start_s(server)[to_index(pulls[e])] < log.start_s(worker)[to_index(pushes[e])];
      if (iteration + 1 == kIterations) continue;
      const std::string layer = layer_of(log.program.work[to_index(pulls[e])].name);
      for (int worker = 0; worker < workers; ++worker)
        wrong += forward_s(log, worker, iteration + 1, layer) < log.end_s(worker)[to_index(pulls[e])];
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("event log: what is sent is received, in every exchange of every synchronous schedule") {
  for (const Algorithm algorithm : {Algorithm::s_sgd, Algorithm::parameter_server, Algorithm::sharded,
                                    Algorithm::local_sgd, Algorithm::theano_mpi}) {
    INFO(name_of(algorithm));
    CHECK(violations(conserved_scenario(algorithm), unequal_ends) == 0);
  }
}

TEST_CASE("event log: no replica is updated before all gradients exist, none trains on the parameters before") {
  for (const Algorithm algorithm : {Algorithm::s_sgd, Algorithm::sharded})
    for (const AllReduceKind all_reduce :
         {AllReduceKind::ring, AllReduceKind::hierarchical, AllReduceKind::halving_doubling}) {
      Scenario s = conserved_scenario(algorithm);
      s.communication.all_reduce = all_reduce;
      s.communication.group_size = 2;
      INFO(name_of(algorithm) << " by " << name_of(all_reduce));
      CHECK(violations(s, [](const Log& log) { return early_updates(log, 4); }) == 0);
    }
  // The check finds a GPU that updates too early.
  CHECK(violations(conserved_scenario(Algorithm::s_sgd), [](const Log& log) {
          Log early = log;
          early.replay.timelines[2].start_s[to_index(log.works(1, "update").back())] = 0;
          return early_updates(early, 4);
        }) == 2);
}

TEST_CASE("event log: servers apply all that is pushed, and hand out a layer's version when it is whole") {
  const Scenario s = conserved_scenario(Algorithm::parameter_server);
  CHECK(violations(s, [](const Log& log) { return mixed_versions(log, 4); }) == 0);
  // Two leaders push all gradients to the servers, each once, and get as much back.
  const double bytes = 4 * static_cast<double>(s.model.parameter_count());
  CHECK(violations(s, [bytes](const Log& log) {
          double pushed = 0, pulled = 0;
          for (int server = 4; server < log.program.gpus; ++server)
            for (const Exchange& e : log.replay.timelines[to_index(server)].exchanges)
              (e.is_send ? pulled : pushed) += static_cast<double>(e.bytes);
          return double(pushed != kIterations * 2 * bytes) + double(pulled != pushed);
        }) == 0);
  // The check finds a worker that trains on a layer before it has come.
  CHECK(violations(s, [](const Log& log) {
          Log early = log;
          early.replay.timelines[0].start_s[to_index(log.works(2, "forward").back())] = 0;
          return double(mixed_versions(early, 4) > 0);
        }) == 2);
}
