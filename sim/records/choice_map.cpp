// Questions of which is best or how much is enough. Simulated are what may be chosen: group sizes of the hierarchical
// all-reduce, bandwidths of the network, learners that synchronise less often. What a node must exchange in the time
// that there is for it follows from the model alone:
//
//   servers on the workers' nodes   4 P (n-1)/n in an iteration, in and out together, as papers on them count
//   all-reduce                      2 P (n-1)/n each way in a backward pass
//
// for P bytes of parameters and n nodes.
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr double kLeastBandwidth = 0.5e9, kMostBandwidth = 400e9, kStep = 1.25;  // bit/s
constexpr double kLinear = 0.95;
constexpr int kUsualTau = 4;

void map_best_group(Mapping& m) {
  const int gpus = gpus_of(m);
  double bytes = m.record.params_bytes;
  if (bytes <= 0) bytes = 4.0 * static_cast<double>(network(m.model->id).parameter_count());
  if (m.wire == "fp16") bytes /= 2;
  Alternatives tasks = all_reduce_task(m, gpus, {static_cast<std::int64_t>(bytes)});
  Task task = tasks.front();
  if (task.scenario.communication.all_reduce != AllReduceKind::hierarchical)
    throw Unmapped{"algorithm " + in_quotes(m.record.algorithm) + " has no groups"};
  // Buffers as the software fuses them, one after the other.
  const double most = static_cast<double>(task.scenario.communication.fusion_threshold_bytes);
  const double buffers = most > 0 ? std::ceil(bytes / most) : 1;
  task.bytes.assign(static_cast<std::size_t>(buffers), static_cast<std::int64_t>(bytes / buffers));
  m.assume("all-reduce", bytes / buffers, "buffers of all gradients, one after the other");
  for (int group = 2; group <= gpus / 2; group *= 2) {
    task.scenario.communication.group_size = group;
    m.result.target.push_back(task);
    m.result.choices.push_back(group);
  }
  if (m.result.choices.empty()) throw Unmapped{"gpus: too few for groups"};
  m.result.quantity = Quantity::best_choice;
}

// "90 % efficiency": what counts as enough.
double wanted_share(Mapping& m) {
  static const std::regex stated(R"((\d{2}(?:\.\d+)?) ?(?:%|percent))");
  for (const std::string& text : {m.record.unit, m.record.notes}) {
    std::smatch found;
    if (std::regex_search(text, found, stated) && mentions(text, "efficien")) return std::stod(found[1].str()) / 100;
  }
  m.assume("efficiency that is wanted", kLinear, "not stated");
  return kLinear;
}

double bits_per_unit(const Record& record) {
  const std::string unit = lower(record.unit);
  if (unit.rfind("gb/s", 0) == 0 && record.unit[1] == 'B') return 8e9;
  if (unit.rfind("gb", 0) == 0) return 1e9;
  if (unit.rfind("mb", 0) == 0 && record.unit[1] != 'B') return 1e6;
  if (unit.empty() || unit.rfind("bit", 0) == 0) return 1;
  throw Unmapped{"unit " + in_quotes(record.unit) + " of " + record.metric + "; known: bit/s, Gbit/s, GB/s"};
}

struct Traffic {
  double bytes = 0;    ///< of a node
  double seconds = 0;  ///< that there are for them
};

constexpr double kTimeOff = 0.1;    // of the computation
constexpr double kWindowOff = 0.2;  // of the part of it that exchanges can hide behind

Traffic traffic_of(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const Task task = iteration_task(m, gpus, batch).front();
  const double nodes = task.scenario.cluster.nodes;
  if (nodes < 2) throw Unmapped{"one node needs no network"};
  const double element = m.wire == "fp16" ? 2 : 4;
  const double once = element * static_cast<double>(task.scenario.model.parameter_count()) * (nodes - 1) / nodes;
  const ModelCost cost = model_cost(task.scenario, batch);
  if (task.scenario.parameter_server) {
    m.assume("traffic of a node", 4 * once, "as worker and as server, in and out together");
    return {4 * once, cost.iteration_s()};
  }
  m.assume("traffic of a node", 2 * once, "each way; hidden behind the backward pass");
  return {2 * once, cost.backward_s()};
}

// `per_byte`: of the record's unit.
void map_traffic(Mapping& m, double per_byte) {
  const Traffic traffic = traffic_of(m);
  const double value = traffic.bytes / traffic.seconds * per_byte;
  const double off = std::hypot(kTimeOff, kWindowOff);
  m.result.quantity = Quantity::needed_traffic;
  m.result.estimate = {value, value * (1 - off), value * (1 + off)};
}

void map_needed_bandwidth(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const double per_si = 1 / bits_per_unit(m.record);
  const Task task = iteration_task(m, gpus, batch).front();
  if (task.scenario.cluster.nodes < 2) throw Unmapped{"one node needs no network"};
  m.result.wanted_share = wanted_share(m);
  const bool is_of_servers = task.scenario.parameter_server.has_value();
  m.assume("bandwidth", is_of_servers ? "in and out together" : "each way",
           "no protocol, no waiting in host memory, no variation of GPUs");
  for (double bits = kLeastBandwidth; bits <= kMostBandwidth; bits *= kStep) {
    Task one = task;
    Scenario& s = one.scenario;
    s.cluster.nic.link.bandwidth_bytes_per_s = bits / 8;
    s.cluster.fabric.link.bandwidth_bytes_per_s = bits / 8;
    s.cluster.host.memory_bandwidth_bytes_per_s = std::max(s.cluster.host.memory_bandwidth_bytes_per_s, bits / 2);
    s.compute.jitter = JitterKind::none;
    s.uncertainty = {};
    if (is_of_servers) s.parameter_server->staging_bytes_per_s = 0;
    s.cluster.nic.half_duplex = is_of_servers;
    m.result.target.push_back(one);
    m.result.choices.push_back(bits);
  }
  Task alone = task;
  alone.gpus = 1;
  alone.scenario.cluster = {};
  alone.scenario.cluster.gpu = m.gpu->spec;
  alone.scenario.parameter_server.reset();
  alone.scenario.compute.jitter = JitterKind::none;
  m.result.baseline = {alone};
  m.result.quantity = Quantity::needed_choice;
  m.result.per_si = per_si;
}

void map_gain_of_tau(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  const Alternatives tasks = iteration_task(m, gpus, batch);
  if (!tasks.front().scenario.trains_learners())
    throw Unmapped{"algorithm " + in_quotes(m.record.algorithm) + " has no period of synchronisation"};
  static const std::regex stated(R"(tau *= *(\d{1,4}))", std::regex::icase);
  int tau = 0;
  for (const std::string& text : {m.record.algorithm, m.record.unit, m.record.notes}) {
    std::smatch found;
    if (tau == 0 && std::regex_search(text, found, stated)) tau = std::stoi(found[1].str());
  }
  if (tau == 0) {
    tau = kUsualTau;
    m.assume("tau", tau, "not stated; over 1");
  }
  m.result.baseline = tasks;
  m.result.target = tasks;
  // As Crossbow's released program does; its paper describes streams, beside whose work synchronisation would hide.
  m.assume("synchronised by", "the host", "the released program");
  for (Alternatives* side : {&m.result.target, &m.result.baseline})
    for (Task& task : *side) {
      task.scenario.learners.by_host = true;
      task.scenario.learners.host_wait_s = 10e-6;
    }
  for (Task& task : m.result.target) task.scenario.learners.tau = tau;
  m.result.quantity = Quantity::throughput_gain;
}

}  // namespace

bool is_of_choices(const Mapping& m) {
  return m.metric == "best_group_size" || m.metric == "required_bandwidth" || m.metric == "bandwidth_for_linear" ||
         m.metric == "throughput_gain_tau" || m.metric == "node_traffic_floats_per_s";
}

void map_choices(Mapping& m) {
  if (m.metric == "best_group_size") return map_best_group(m);
  if (m.metric == "throughput_gain_tau") return map_gain_of_tau(m);
  if (m.metric == "node_traffic_floats_per_s") return map_traffic(m, m.wire == "fp16" ? 1. / 2 : 1. / 4);
  if (m.metric == "required_bandwidth") return map_traffic(m, 8 / bits_per_unit(m.record));
  map_needed_bandwidth(m);
}

}  // namespace lockstep::sim
