// Asynchronous workers: counts the updates that a layer got between a worker's read of it and that worker's own update.
//
// Messages are simulated one by one (sim/schedule/async_sgd.hpp). Workers have one GPU each; servers are separate
// machines. Each module of the model is a shard, and all reads begin at the start of a step. Chen et al. 2016 number
// the layers of Inception, which has 18 layers and an auxiliary classifier. Their Table 1 shows the modules of the
// numbered layers.
#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/schedule/shards.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr double kStepDeviation = 0.06;  // deviation of ln(time of a step) between workers in a shared data centre
constexpr int kMeasuredUpdates = 400;    // per module
constexpr int kFewestSteps = 10;         // per worker; queues at the servers need some steps to fill
constexpr int kMostWorkers = 512;        // because every worker sends a message per module and step
constexpr double kUsualRate = 10e9;      // bit/s

// Returns the index of an Inception layer among the modules 1a ... 6e, aux, 7a ... fc. It may lie between two modules.
double place_in_inception(int layer, double modules) {
  constexpr int kLastBelow = 11, kSideBranch = 12, kTop = 18;  // modules 6e, aux, fc
  const double side_branch = modules - 5, last_below = side_branch - 1, first_above = side_branch + 1;
  if (layer <= kLastBelow) return last_below * layer / kLastBelow;
  if (layer == kSideBranch) return side_branch;
  return first_above + (modules - 1 - first_above) * (layer - kSideBranch - 1) / (kTop - kSideBranch - 1);
}

StalenessSpec place_of(ResultModel& m, const Scenario& scenario, int batch, int layer, bool is_inception) {
  const std::vector<Shard> shards = module_shards(scenario.model, model_cost(scenario, batch), 4, 1);
  const double last = static_cast<double>(shards.size()) - 1;
  double place = layer;
  if (is_inception) {
    if (layer > 18) throw Unmapped{"layer " + std::to_string(layer) + ": this Inception has layers 0 to 18"};
    place = place_in_inception(layer, last + 1);
  }
  if (place > last)
    throw Unmapped{"layer " + std::to_string(layer) + ": " + m.model->id + " has " + std::to_string(shards.size()) +
                   " modules, and which of them it is is not stated"};
  const std::size_t below = static_cast<std::size_t>(place), above = std::min(below + 1, shards.size() - 1);
  const double share = place - static_cast<double>(below);
  const std::string module = shards[below].name + (share > 0 ? " to " + shards[above].name : "");
  m.assume("layer", std::to_string(layer) + " is module " + module,
           is_inception ? "layers 0, 11, 12 and 18 are modules 1a, 6e, aux and fc; others lie evenly between them"
                        : "layers are numbered as the modules lie");
  return {Statistic::mean, shards[below].name, shards[share > 0 ? above : below].name, share};
}

// Interpolates numbers of servers that the same publication gives, in logarithms. Beyond them, uses the nearest one.
int servers_for(ResultModel& m, int workers) {
  std::map<double, double> given;  // both in logarithms
  for (const Record& other : m.given)
    if (other.measure.metric == Metric::parameter_servers && other.source == m.record.source && other.gpus > 0 &&
        other.value && *other.value >= 1)
      given[std::log(other.gpus)] = std::log(*other.value);
  if (given.empty()) {
    const int servers = std::max(1, (workers + 2) / 3);
    m.assume("parameter servers", servers, "not stated; one for three workers");
    return servers;
  }
  m.task.uses_results = true;
  const double at = std::log(workers);
  const auto above = given.lower_bound(at);
  double servers = 0;
  if (above == given.begin() || above == given.end()) {
    servers = above == given.end() ? given.rbegin()->second : above->second;
  } else {
    const auto below = std::prev(above);
    servers = below->second + (above->second - below->second) * (at - below->first) / (above->first - below->first);
  }
  const int count = static_cast<int>(std::lround(std::exp(servers)));
  m.assume("parameter servers", count, "from those given for other numbers of workers");
  return count;
}

WorkersSpec workers_of(ResultModel& m, int gpus) {
  WorkersSpec spec;
  spec.servers = servers_for(m, gpus);
  spec.by_module = true;
  spec.reads_in_forward = false;
  m.assume("reads", "at the beginning of a step", "none of them waits for another");
  spec.delay.kind = DelaySpec::Kind::lognormal;
  spec.delay.shape = kStepDeviation;
  m.assume("deviation of ln(step time)", kStepDeviation,
           "1.4 s for the first and 1.8 s for the last but few of 100 workers (Chen et al. 2016, section 3.1)");
  return spec;
}

// Returns a cluster of the workers' nodes and one machine per server.
ClusterSpec cluster_of_workers(ResultModel& m, int workers, int servers) {
  Job job = m.job;
  if (job.gpus_per_node <= 0) {
    job.gpus_per_node = 1;
    m.assume("gpus_per_node", 1, "a worker is a machine with one GPU");
  }
  if (!job.network.is_stated) {
    job.network = {};
    job.network.id = "ethernet";
    job.network.rate_bits_per_s = kUsualRate;
    m.assume("network", "10 Gb/s Ethernet", "not stated; usual in data centres of 2016");
  }
  StackModel with_network{job, m.catalogue, m.options, m.inputs, m.gpu, m.stack, m.model, m.precision, m.wire};
  ClusterSpec cluster = cluster_of(with_network, std::max(2, workers));
  cluster.nodes += servers;
  return cluster;
}

}  // namespace

void set_staleness_task(ResultModel& m) {
  if (m.job.algorithm != Algorithm::async_sgd) throw Unmapped{"staleness of an algorithm that is not asynchronous"};
  if (m.record.is_simulated_staleness) throw Unmapped{"staleness was set by the experimenters, not by a machine"};
  const int gpus = gpus_of(m), batch = batch_of(m);
  if (gpus < 2) throw Unmapped{"gpus: one worker alone has no stale gradients"};
  if (gpus > kMostWorkers) throw Unmapped{"gpus: more than 512 asynchronous workers are not simulated for records"};
  if (!m.record.layer) throw Unmapped{"staleness: the layer is not stated"};
  if (!m.record.statistic)
    throw Unmapped{"metric " + in_quotes(m.record.metric) +
                   ": which statistic is not said; known: " + joined(choice_names<Statistic>())};
  Workload run;
  run.kind = Workload::Kind::staleness;
  run.gpus = gpus;
  run.batch_per_gpu = batch;
  Scenario& scenario = run.scenario;
  scenario.name = m.record.id;
  const bool is_inception = m.model->id == "inception_v3";
  scenario.model = model::zoo_graph(is_inception ? "inception_v3_aux" : m.model->id);
  if (is_inception) m.assume("model", "with its auxiliary classifier", "trained with it");
  scenario.compute = compute_of(m, gpus, batch);
  scenario.algorithm = Algorithm::async_sgd;
  scenario.workers = workers_of(m, gpus);
  scenario.cluster = cluster_of_workers(m, gpus, scenario.workers->servers);
  scenario.communication.wire = m.wire;
  scenario.communication.message_overhead_s = 50e-6;
  m.assume("message overhead (s)", 50e-6, "a remote procedure call");
  scenario.fidelity = Fidelity::fast;
  scenario.iterations = std::max(kFewestSteps, kMeasuredUpdates / gpus);
  run.staleness = place_of(m, scenario, batch, *m.record.layer, is_inception);
  run.staleness.statistic = *m.record.statistic;
  if (*m.record.statistic == Statistic::min || *m.record.statistic == Statistic::max)
    m.assume("updates that were observed", 100000, "not stated; extremes are a normal's of that many");
  m.task.quantity = Quantity::staleness;
  m.task.target = {run};
}

}  // namespace lockstep::sim::validation
