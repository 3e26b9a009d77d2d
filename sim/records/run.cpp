#include "sim/records/run.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>

#include "sim/cluster/cluster.hpp"
#include "sim/point/point.hpp"
#include "sim/point/processes.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {
namespace {

constexpr double kSlightest = 0.01;  // of a prediction: no input is known better than that

TaskTime bounded(double seconds, double gain, double loss) {
  return {seconds, seconds * (1 - std::hypot(gain, kSlightest)), seconds * (1 + std::hypot(loss, kSlightest))};
}

// One GPU alone needs no simulation.
TaskTime run_alone(const Task& task) {
  const double seconds = model_cost(task.scenario, task.batch_per_gpu).iteration_s();
  const double u = task.scenario.uncertainty.compute;
  return bounded(seconds, u, u);
}

// Micro-steps before the last one: forward, backward, and gradients added to those before, two arrays of 4 bytes read
// and one written. GPUs do not wait for each other there, so that what varies between them averages out.
TaskTime with_micro_steps(const Task& task, TaskTime time) {
  if (task.accumulation < 2) return time;
  const ModelCost cost = model_cost(task.scenario, task.batch_per_gpu);
  const double bandwidth =
      task.scenario.cluster.gpu.memory_bandwidth_bytes_per_s * task.scenario.compute.memory_efficiency;
  const double adding_s = 3 * 4 * static_cast<double>(task.scenario.model.parameter_count()) / bandwidth;
  const double more_s = (task.accumulation - 1) * (cost.forward_s() + cost.backward_s() + adding_s);
  const double u = task.scenario.uncertainty.compute;
  return {time.seconds + more_s, time.low_s + more_s * (1 - u), time.high_s + more_s * (1 + u)};
}

int without_bounds = 0;  // WithoutBounds objects alive

// As predict_point() has it, by the closed form alone.
TaskTime run_plain_iteration(const Task& task) {
  Scenario scenario = task.scenario;
  scenario.compute.busy_devices = std::min(task.gpus, scenario.cluster.gpus_per_node);
  Cluster cluster(scenario.cluster, occupied_gpus(scenario, task.gpus));
  apply_overheads(scenario, cluster);
  const Program program = build_program(scenario, task.gpus, task.batch_per_gpu, 1 + scenario.iterations);
  const std::vector<double> ends =
      replay_analytic(program, cluster, expected_slowest(scenario, task.gpus)).iteration_end_s;
  return bounded((ends.back() - ends.front()) / scenario.iterations, 0, 0);
}

TaskTime run_iteration(const Task& task) {
  if (without_bounds > 0 && !task.scenario.trains_learners()) return run_plain_iteration(task);
  PointRequest request;
  request.gpus = task.gpus;
  request.batch_per_gpu = task.batch_per_gpu;
  request.fidelity = task.scenario.fidelity;
  request.iterations = task.scenario.iterations;
  const PointResult point = predict_point(task.scenario, request);
  return bounded(point.mean_iteration_s(), 1 - point.relative_low, point.relative_high - 1);
}

// Launch, then latencies and bytes by the plan or by the switch, and what filling a pipeline costs: cut in the best
// number of slices, a pipeline of fill time p takes (sqrt(p) + sqrt(t))^2 for t of bytes.
double all_reduce_s(const Task& task, const AllReduce& plan_of, std::int64_t bytes, Cluster& cluster,
                    const Perturbation& perturbation) {
  const double launch_s = task.scenario.communication.launch_overhead_s * perturbation.latency;
  const double plan_s = analytic_plan_s(plan_of(task.gpus, bytes), cluster, 0, perturbation);
  const double latency_s = analytic_plan_s(plan_of(task.gpus, task.gpus), cluster, 0, perturbation);
  double wire_s = std::max(0.0, plan_s - latency_s);
  if (task.in_switch_bytes_per_s > 0)
    wire_s = std::min(wire_s, static_cast<double>(bytes) / (task.in_switch_bytes_per_s * perturbation.bandwidth));
  return launch_s + task.share * (latency_s + wire_s + 2 * std::sqrt(task.fill_s * perturbation.latency * wire_s));
}

TaskTime run_all_reduces(const Task& task) {
  Cluster cluster(task.scenario.cluster, task.gpus);
  apply_overheads(task.scenario, cluster);
  const AllReduce plan_of = all_reduce_of(task.scenario);
  const auto seconds = [&](const Perturbation& perturbation) {
    double sum = 0;
    for (std::int64_t bytes : task.bytes) sum += all_reduce_s(task, plan_of, bytes, cluster, perturbation);
    return sum;
  };
  const UncertaintySpec& u = task.scenario.uncertainty;
  const double base = seconds({});
  if (without_bounds > 0) return bounded(base, 0, 0);
  const double gain =
      std::hypot(1 - seconds({1, 1 + u.bandwidth, 1}) / base, 1 - seconds({1, 1, 1 - u.latency}) / base);
  const double loss =
      std::hypot(seconds({1, 1 - u.bandwidth, 1}) / base - 1, seconds({1, 1, 1 + u.latency}) / base - 1);
  return bounded(base, gain, loss);
}

constexpr double kShareOff = 0.25;     // of the part of a step that a layer's gradient waits for
constexpr double kDeviationOff = 0.5;  // of the deviation of step times, which is assumed
constexpr double kOfExtremes = 4.26;   // standard deviations: the normal quantile of one in 100,000 updates

// Updates at the module or between two. A layer's staleness is (workers - 1) times the share of the step between its
// read and its update: the whole step for the bottom one, for which nothing can be off.
TaskTime run_staleness(const Task& task) {
  PointRequest request;
  request.gpus = task.gpus;
  request.batch_per_gpu = task.batch_per_gpu;
  request.iterations = task.scenario.iterations;
  const PointResult point = predict_point(task.scenario, request);
  const StalenessSpec& spec = task.staleness;
  const auto of = [&](const std::string& statistic) {
    double below = 0, above = 0;
    for (const Json& row : point.details.at("staleness")) {
      if (row.at("shard") == spec.below) below = row.at(statistic).get<double>();
      if (row.at("shard") == spec.above) above = row.at(statistic).get<double>();
    }
    return std::make_pair((1 - spec.share) * below + spec.share * above, std::abs(above - below));
  };
  // Extremes are those of the published run, which is far longer than the simulated one.
  const bool is_least = spec.statistic == "min", is_most = spec.statistic == "max";
  const auto [in_run, step] = of(is_least || is_most ? "mean" : spec.statistic);
  const double mean = of("mean").first, deviation = of("sd").first;
  const double away = is_most ? kOfExtremes * deviation : is_least ? -kOfExtremes * deviation : 0;
  const double value = std::max(0.0, in_run + away);
  const double others = std::max(1, task.gpus - 1);
  double off = mean * (0.02 + kShareOff * std::max(0.0, 1 - mean / others));
  if (spec.statistic == "sd") off = kDeviationOff * deviation;
  off = std::hypot(off, kDeviationOff * away);
  off = std::hypot(off, step / 2);
  return {value, std::max(0.0, value - off), value + off};
}

bool needs_no_cluster(const Task& task) {
  return task.kind == Task::Kind::iteration && task.gpus == 1 && task.scenario.cluster.nic.per_node == 0 &&
         !task.scenario.parameter_server;
}

constexpr char kFailed = '!';  // of a time's text, before why it failed

std::string text_of(const TaskTime& time) {
  if (!time.failure.empty()) return kFailed + time.failure;
  char text[120];
  std::snprintf(text, sizeof text, "%a %a %a", time.seconds, time.low_s, time.high_s);
  return text;
}

TaskTime time_of(const std::string& text) {
  TaskTime time;
  if (text.front() == kFailed) {
    time.failure = text.substr(1);
    return time;
  }
  std::sscanf(text.c_str(), "%la %la %la", &time.seconds, &time.low_s, &time.high_s);
  return time;
}

TaskTime time_of(const Task& task) {
  try {
    if (needs_no_cluster(task)) return with_micro_steps(task, run_alone(task));
    if (task.kind == Task::Kind::staleness) return run_staleness(task);
    if (task.kind == Task::Kind::all_reduce) return run_all_reduces(task);
    return with_micro_steps(task, run_iteration(task));
  } catch (const std::exception& error) {
    return {0, 0, 0, error.what()};
  }
}

void add(std::ostringstream& text, const LinkSpec& link) {
  text << link.bandwidth_bytes_per_s << ' ' << link.latency_s << ' ';
}

}  // namespace

namespace {

void add_cluster(std::ostringstream& text, const ClusterSpec& c) {
  text << c.nodes << ' ' << c.gpus_per_node << ' ' << c.gpu.name << ' ' << c.host.memory_bandwidth_bytes_per_s << ' '
       << c.host.memory_latency_s << ' ' << static_cast<int>(c.intra_node.kind) << ' '
       << c.intra_node.pcie.peer_across_sockets << ' ' << c.nic.per_node << ' ' << c.nic.gpudirect << ' '
       << c.nic.half_duplex << ' ';
  for (const SwitchSpec& s : c.intra_node.pcie.switches) text << s.socket << ':' << s.gpus.size() << ' ';
  for (const LinkSpec& link : {c.intra_node.gpu_link, c.intra_node.pcie.gpu_link, c.intra_node.pcie.switch_uplink,
                               c.intra_node.pcie.socket_link, c.nic.link, c.fabric.link})
    add(text, link);
}

void add_compute(std::ostringstream& text, const ComputeSpec& c) {
  text << name_of(c.precision) << ' ' << c.launch_s << ' ' << c.memory_efficiency << ' ' << c.fast_convolution_gain
       << ' ' << c.channel_tile << ' ' << c.cast_bytes_per_parameter << ' ' << name_of(c.optimizer) << ' '
       << static_cast<int>(c.jitter) << ' ' << c.jitter_variation << ' ';
  for (const EfficiencySpec& e : c.compute_efficiency) text << e.flop << ':' << e.efficiency << ' ';
  for (const RateSpec& rate : c.rates) text << rate.batch << ':' << rate.samples_per_s << ' ';
}

void add_algorithm(std::ostringstream& text, const Scenario& s) {
  const CommunicationSpec& c = s.communication;
  text << name_of(s.algorithm) << ' ' << name_of(c.all_reduce) << ' ' << c.group_size << ' ' << name_of(c.wire) << ' '
       << c.fusion_threshold_bytes << ' ' << c.overlap << ' ' << c.message_overhead_s << ' ' << c.launch_overhead_s
       << ' ' << name_of(c.nccl.generation) << ' ' << c.torus_columns << ' ' << c.tree_slices << ' '
       << name_of(s.theano_mpi.exchange) << ' ' << s.theano_mpi.staging_bytes_per_s << ' ' << s.learners.per_gpu << ' '
       << s.learners.tau << ' ' << s.sharding.unit_bytes << ' ';
  if (s.workers)
    text << s.workers->servers << ' ' << s.workers->by_module << ' ' << s.workers->reads_in_forward << ' '
         << s.workers->sends_in_backward << ' ' << s.workers->delay.scale << ' ' << s.workers->delay.shape << ' ';
  if (s.parameter_server)
    text << name_of(s.parameter_server->scheme) << ' ' << s.parameter_server->shards_tensors << ' '
         << s.parameter_server->pair_bytes << ' ' << s.parameter_server->barrier << ' '
         << s.parameter_server->staging_bytes_per_s << ' ' << s.parameter_server->staging_overlaps << ' '
         << s.parameter_server->apply_bytes_per_s << ' ';
}

}  // namespace

std::string task_text(const Task& task) {
  const Scenario& s = task.scenario;
  std::ostringstream text;
  text.precision(17);
  text << static_cast<int>(task.kind) << ' ' << task.gpus << ' ' << task.batch_per_gpu << ' ' << task.accumulation
       << ' ' << s.model.name << ' ' << s.model.layers.size() << ' ';
  for (std::int64_t bytes : task.bytes) text << bytes << ' ';
  text << task.fill_s << ' ' << task.share << ' ' << task.in_switch_bytes_per_s << ' ' << name_of(s.fidelity) << ' '
       << s.iterations << ' ';
  add_cluster(text, s.cluster);
  add_compute(text, s.compute);
  add_algorithm(text, s);
  text << task.staleness.statistic << ' ' << task.staleness.below << ' ' << task.staleness.above << ' '
       << task.staleness.share << ' ';
  text << s.uncertainty.compute << ' ' << s.uncertainty.bandwidth << ' ' << s.uncertainty.latency;
  return text.str();
}

WithoutBounds::WithoutBounds() {
  ++without_bounds;
}

WithoutBounds::~WithoutBounds() {
  --without_bounds;
}

std::vector<TaskTime> run_tasks(const std::vector<const Task*>& tasks, int jobs) {
  // A search for a constant asks for the same tasks over and over.
  static std::map<std::string, TaskTime> known;
  std::map<std::string, std::size_t> index;
  std::vector<const Task*> in_process;
  std::vector<std::string> texts;
  for (const Task* task : tasks) {
    texts.push_back((without_bounds > 0 ? "plain " : "") + task_text(*task));
    if (known.count(texts.back()) > 0) continue;
    if (needs_no_cluster(*task))
      known[texts.back()] = time_of(*task);
    else if (index.try_emplace(texts.back(), in_process.size()).second)
      in_process.push_back(task);
  }
  const std::vector<std::string> times =
      in_processes(in_process.size(), jobs, [&](std::size_t i) { return text_of(time_of(*in_process[i])); });
  for (const auto& [text, i] : index) known[text] = time_of(times[i]);
  std::vector<TaskTime> results;
  for (const std::string& text : texts) results.push_back(known.at(text));
  return results;
}

}  // namespace lockstep::sim
