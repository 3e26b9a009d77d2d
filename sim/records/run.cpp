#include "sim/records/run.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/point.hpp"
#include "sim/replay/processes.hpp"
#include "sim/replay/programs.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/scenario_cost.hpp"

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

TaskTime run_iteration(const Task& task) {
  PointRequest request;
  request.gpus = task.gpus;
  request.batch_per_gpu = task.batch_per_gpu;
  request.fidelity = fidelity_from(task.scenario.fidelity);
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
  return launch_s + latency_s + wire_s + 2 * std::sqrt(task.fill_s * perturbation.latency * wire_s);
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
  const double gain =
      std::hypot(1 - seconds({1, 1 + u.bandwidth, 1}) / base, 1 - seconds({1, 1, 1 - u.latency}) / base);
  const double loss =
      std::hypot(seconds({1, 1 - u.bandwidth, 1}) / base - 1, seconds({1, 1, 1 + u.latency}) / base - 1);
  return bounded(base, gain, loss);
}

bool needs_no_cluster(const Task& task) {
  return task.kind == Task::Kind::iteration && task.gpus == 1;
}

std::string text_of(const TaskTime& time) {
  char text[120];
  std::snprintf(text, sizeof text, "%a %a %a", time.seconds, time.low_s, time.high_s);
  return text;
}

TaskTime time_of(const std::string& text) {
  TaskTime time;
  std::sscanf(text.c_str(), "%la %la %la", &time.seconds, &time.low_s, &time.high_s);
  return time;
}

void add(std::ostringstream& text, const LinkSpec& link) {
  text << link.bandwidth_bytes_per_s << ' ' << link.latency_s << ' ';
}

}  // namespace

std::string task_text(const Task& task) {
  const Scenario& s = task.scenario;
  std::ostringstream text;
  text.precision(17);
  text << static_cast<int>(task.kind) << ' ' << task.gpus << ' ' << task.batch_per_gpu << ' ' << s.model.name << ' ';
  for (std::int64_t bytes : task.bytes) text << bytes << ' ';
  text << task.fill_s << ' ' << task.in_switch_bytes_per_s << ' ' << s.fidelity << ' ' << s.cluster.gpus_per_node << ' '
       << s.cluster.gpu.name << ' ' << s.cluster.host.memory_bandwidth_bytes_per_s << ' '
       << static_cast<int>(s.cluster.intra_node.kind) << ' ' << s.cluster.intra_node.pcie.peer_across_sockets << ' '
       << s.cluster.intra_node.pcie.switches.size() << ' ';
  for (const LinkSpec& link :
       {s.cluster.intra_node.gpu_link, s.cluster.intra_node.pcie.gpu_link, s.cluster.intra_node.pcie.switch_uplink,
        s.cluster.intra_node.pcie.socket_link, s.cluster.nic.link})
    add(text, link);
  text << s.cluster.nic.gpudirect << ' ' << s.compute.precision << ' ' << s.compute.launch_s << ' '
       << s.compute.memory_efficiency << ' ' << s.compute.optimizer << ' ' << s.compute.jitter_variation << ' ';
  for (const RateSpec& rate : s.compute.rates) text << rate.batch << ' ' << rate.samples_per_s << ' ';
  const CommunicationSpec& c = s.communication;
  text << c.all_reduce << ' ' << c.group_size << ' ' << c.wire << ' ' << c.fusion_threshold_bytes << ' ' << c.overlap
       << ' ' << c.message_overhead_s << ' ' << c.launch_overhead_s << ' ' << s.uncertainty.compute << ' '
       << s.uncertainty.bandwidth << ' ' << s.uncertainty.latency;
  return text.str();
}

std::vector<TaskTime> run_tasks(const std::vector<const Task*>& tasks, int jobs) {
  std::map<std::string, std::size_t> index;
  std::vector<const Task*> different;
  std::vector<std::size_t> which;
  for (const Task* task : tasks) {
    const auto [entry, is_new] = index.try_emplace(task_text(*task), different.size());
    if (is_new) different.push_back(task);
    which.push_back(entry->second);
  }
  std::vector<TaskTime> times(different.size());
  std::vector<std::size_t> in_process;
  for (std::size_t i = 0; i < different.size(); ++i) {
    if (needs_no_cluster(*different[i]))
      times[i] = run_alone(*different[i]);
    else
      in_process.push_back(i);
  }
  const std::vector<std::string> texts = in_processes(in_process.size(), jobs, [&](std::size_t i) {
    const Task& task = *different[in_process[i]];
    return text_of(task.kind == Task::Kind::iteration ? run_iteration(task) : run_all_reduces(task));
  });
  for (std::size_t i = 0; i < in_process.size(); ++i) times[in_process[i]] = time_of(texts[i]);
  std::vector<TaskTime> results;
  for (std::size_t i : which) results.push_back(times[i]);
  return results;
}

}  // namespace lockstep::sim
