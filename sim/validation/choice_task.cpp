// Predicts which choice is best, or how much is enough. The choices are simulated: group sizes of the hierarchical
// all-reduce, bandwidths of the network, learners that synchronise less often. A node's traffic is not simulated: its
// bytes follow from the model, with P bytes of parameters and n nodes, and are divided by the available time:
//
//   `servers on the workers' nodes`   4 P (n-1)/n in an iteration, both directions together, as papers count them.
//   `all-reduce`                      2 P (n-1)/n in each direction in a backward pass.
#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr double kLeastBandwidth = 0.5e9, kMostBandwidth = 400e9, kStep = 1.25;  // bit/s
constexpr double kLinear = 0.95;
constexpr int kUsualTau = 4;

void map_best_group(ResultModel& m) {
  const int gpus = gpus_of(m);
  double bytes = m.job.bytes;
  if (bytes <= 0) bytes = 4.0 * static_cast<double>(model::zoo_graph(m.model->id).parameter_count());
  if (m.wire == Wire::fp16) bytes /= 2;
  Workload run = all_reduce_workload(m, gpus, {static_cast<std::int64_t>(bytes)});
  if (run.scenario.communication.all_reduce != AllReduceKind::hierarchical)
    throw Unmapped{"algorithm " + in_quotes(name_of(run.scenario.communication.all_reduce)) + " has no groups"};
  // Gradients are fused into buffers as by the software. The buffers are all-reduced one after the other.
  const double most = static_cast<double>(run.scenario.communication.fusion_threshold_bytes);
  const double buffers = most > 0 ? std::ceil(bytes / most) : 1;
  run.bytes.assign(static_cast<std::size_t>(buffers), static_cast<std::int64_t>(bytes / buffers));
  m.assume("all-reduce", bytes / buffers, "buffers of all gradients, one after the other");
  for (int group = 2; group <= gpus / 2; group *= 2) {
    run.scenario.communication.group_size = group;
    m.task.target.push_back(run);
    m.task.choices.push_back(group);
  }
  if (m.task.choices.empty()) throw Unmapped{"gpus: too few for groups"};
  m.task.quantity = Quantity::best_choice;
}

double wanted_share(ResultModel& m) {
  if (m.record.wanted_efficiency > 0) return m.record.wanted_efficiency;
  m.assume("efficiency that is wanted", kLinear, "not stated");
  return kLinear;
}

struct Traffic {
  double bytes = 0;    ///< per node
  double seconds = 0;  ///< time available for these bytes
};

constexpr double kTimeOff = 0.1;    // relative error of the computing time
constexpr double kWindowOff = 0.2;  // relative error of the part of that time in which exchanges can be hidden

Traffic traffic_of(ResultModel& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const Workload run = iteration_workload(m, gpus, batch);
  const double nodes = run.scenario.cluster.nodes;
  if (nodes < 2) throw Unmapped{"one node needs no network"};
  const double element = bytes_of(m.wire);
  const double once = element * static_cast<double>(run.scenario.model.parameter_count()) * (nodes - 1) / nodes;
  const ModelCost cost = model_cost(run.scenario, batch);
  if (run.scenario.parameter_server) {
    m.assume("traffic of a node", 4 * once, "as worker and as server, in and out together");
    return {4 * once, cost.iteration_s()};
  }
  m.assume("traffic of a node", 2 * once, "each way; hidden behind the backward pass");
  return {2 * once, cost.backward_s()};
}

// `per_byte` is the number of the record's units per byte.
void map_traffic(ResultModel& m, double per_byte) {
  const Traffic traffic = traffic_of(m);
  const double value = traffic.bytes / traffic.seconds * per_byte;
  const double off = std::hypot(kTimeOff, kWindowOff);
  m.task.quantity = Quantity::needed_traffic;
  m.task.estimate = {value, value * (1 - off), value * (1 + off)};
}

void map_needed_bandwidth(ResultModel& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const Workload run = iteration_workload(m, gpus, batch);
  if (run.scenario.cluster.nodes < 2) throw Unmapped{"one node needs no network"};
  m.task.wanted_share = wanted_share(m);
  const bool is_of_servers = run.scenario.parameter_server.has_value();
  m.assume("bandwidth", is_of_servers ? "in and out together" : "each way",
           "no protocol, no waiting in host memory, no variation of GPUs");
  for (double bits = kLeastBandwidth; bits <= kMostBandwidth; bits *= kStep) {
    Workload one = run;
    Scenario& s = one.scenario;
    s.cluster.nic.link.bandwidth_bytes_per_s = bits / 8 / s.cluster.nic.per_node;
    s.cluster.fabric.link.bandwidth_bytes_per_s = bits / 8;
    for (LinkSpec& of_level : s.cluster.fabric.fat_tree.links) of_level.bandwidth_bytes_per_s = bits / 8;
    s.cluster.host.memory_bandwidth_bytes_per_s = std::max(s.cluster.host.memory_bandwidth_bytes_per_s, bits / 2);
    s.compute.jitter = JitterKind::none;
    s.uncertainty = {};
    if (is_of_servers) s.parameter_server->staging_bytes_per_s = 0;
    s.cluster.nic.half_duplex = is_of_servers;
    m.task.target.push_back(one);
    m.task.choices.push_back(bits);
  }
  Workload alone = run;
  alone.gpus = 1;
  alone.scenario.cluster = {};
  alone.scenario.cluster.gpu = m.gpu->spec;
  alone.scenario.parameter_server.reset();
  alone.scenario.compute.jitter = JitterKind::none;
  m.task.baseline = {alone};
  m.task.quantity = Quantity::needed_choice;
  m.task.per_si = m.record.measure.per_si;
}

void map_gain_of_tau(ResultModel& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const Workload iteration = iteration_workload(m, gpus, batch);
  if (!iteration.scenario.trains_learners())
    throw Unmapped{"algorithm " + in_quotes(name_of(iteration.scenario.communication.all_reduce)) +
                   " has no period of synchronisation"};
  int tau = m.job.tau;
  if (tau == 0) {
    tau = kUsualTau;
    m.assume("tau", tau, "not stated; over 1");
  }
  m.task.baseline = {iteration};
  m.task.target = {iteration};
  // As in Crossbow's released program. Its paper describes streams, which would hide synchronisation.
  m.assume("synchronised by", "the host", "the released program");
  for (Alternatives* side : {&m.task.target, &m.task.baseline})
    for (Workload& run : *side) {
      run.scenario.learners.by_host = true;
      run.scenario.learners.host_wait_s = 10e-6;
    }
  for (Workload& run : m.task.target) run.scenario.learners.tau = tau;
  m.task.quantity = Quantity::throughput_gain;
}

}  // namespace

void set_choice_task(ResultModel& m) {
  switch (m.metric()) {
    case Metric::best_group_size:
      return map_best_group(m);
    case Metric::throughput_gain_tau:
      return map_gain_of_tau(m);
    case Metric::node_traffic:
      return map_traffic(m, 1. / bytes_of(m.wire));
    case Metric::required_bandwidth:
      return map_traffic(m, 8 * m.record.measure.per_si);
    default:
      return map_needed_bandwidth(m);
  }
}

}  // namespace lockstep::sim::validation
