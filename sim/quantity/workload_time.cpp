#include "sim/quantity/workload_time.hpp"

#include <cmath>
#include <map>

#include "engine/base/log.hpp"
#include "engine/base/process_pool.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/point/calibration.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::quantity {
namespace {

WorkloadTime bounded(double seconds, double gain, double loss, const PredictionMethod& method) {
  return {seconds, seconds * (1 - std::hypot(gain, kLeastError)), seconds * (1 + std::hypot(loss, kLeastError)),
          method};
}

PredictionMethod closed_form(MethodReason reason) {
  return {ReplayMethod::closed_form, reason};
}

// Sums the layers of one GPU. It sends no message, so max-plus recurrences would give the same time.
WorkloadTime one_gpu_time(const Workload& run) {
  const double seconds = model_cost(run.scenario, run.batch_per_gpu).iteration_s();
  const double u = run.scenario.uncertainty.compute;
  return bounded(seconds, u, u, {ReplayMethod::max_plus, MethodReason::separate_links});
}

// Adds micro-steps that the workload's program leaves out: those of one GPU, and those of algorithms that do not
// accumulate. In them, GPUs do not wait for each other.
WorkloadTime with_micro_steps(const Workload& run, WorkloadTime time) {
  const int more_steps = run.accumulation - run.scenario.communication.accumulation;
  if (more_steps < 1) return time;
  const ModelCost cost = model_cost(run.scenario, run.batch_per_gpu);
  const double more_s = more_steps * (cost.forward_s() + cost.backward_s());
  const double u = run.scenario.uncertainty.compute;
  return {time.seconds + more_s, time.low_s + more_s * (1 - u), time.high_s + more_s * (1 + u), time.method};
}

// Evaluates the closed form of predict_point().
WorkloadTime closed_form_iteration(const Workload& run) {
  Scenario scenario = run.scenario;
  scenario.compute.busy_devices = std::min(run.gpus, scenario.cluster.gpus_per_node);
  Cluster cluster(scenario.cluster, occupied_gpus(scenario, run.gpus));
  apply_overheads(scenario, cluster);
  const Program program = build_program(scenario, run.gpus, run.batch_per_gpu, 1 + scenario.iterations);
  const std::vector<double> ends =
      replay_analytic(program, cluster, expected_slowest(scenario, run.gpus)).iteration_end_s;
  return bounded((ends.back() - ends.front()) / scenario.iterations, 0, 0, closed_form(MethodReason::no_interval));
}

// Returns the launch time plus that of an all-reduce of this number of bytes, as in training.
double all_reduce_s(const Workload& run, const AllReduce& plan_of, std::int64_t bytes, Cluster& cluster,
                    const Perturbation& perturbation) {
  const double launch_s = run.scenario.communication.launch_overhead_s * perturbation.latency;
  return launch_s + run.share * analytic_plan_s(plan_of(run.gpus, bytes), cluster, 0, perturbation);
}

WorkloadTime all_reduces_time(const Workload& run, bool with_bounds) {
  Cluster cluster(run.scenario.cluster, run.gpus);
  apply_overheads(run.scenario, cluster);
  const AllReduce plan_of = all_reduce_of(run.scenario);
  const auto seconds = [&](const Perturbation& perturbation) {
    double sum = 0;
    for (std::int64_t bytes : run.bytes) sum += all_reduce_s(run, plan_of, bytes, cluster, perturbation);
    return sum;
  };
  const double base_s = seconds({});
  const PredictionMethod method = closed_form(MethodReason::single_collective);
  if (!with_bounds) return bounded(base_s, 0, 0, method);
  UncertaintySpec uncertainty = run.scenario.uncertainty;
  uncertainty.compute = 0;
  const RelativeInterval interval = relative_interval(uncertainty, seconds);
  return bounded(base_s, 1 - interval.low, interval.high - 1, method);
}

constexpr double kShareOff = 0.25;     // relative error of the part of a step between a layer's read and its update
constexpr double kDeviationOff = 0.5;  // relative error of the deviation of step times, which is an assumption
constexpr double kOfExtremes = 4.26;   // extremes in standard deviations: the normal quantile of one in 100,000 updates

double value_of(const SampleSummary& summary, Statistic statistic) {
  switch (statistic) {
    case Statistic::min:
      return summary.min;
    case Statistic::mean:
      return summary.mean;
    case Statistic::median:
      return summary.median;
    case Statistic::max:
      return summary.max;
    case Statistic::sd:
      break;
  }
  return summary.sd;
}

// Staleness in updates, at a module or between two. It is (workers - 1) times the part of the step between a layer's
// read and its update. For the bottom layer this part is the whole step, so it has no error.
WorkloadTime staleness_of(const Workload& run) {
  const PointResult point = predict_point(run.scenario, request_for(run.scenario, run.gpus, run.batch_per_gpu));
  const StalenessSpec& spec = run.staleness;
  const auto of = [&](Statistic wanted) {
    double below = 0, above = 0;
    for (const ShardStaleness& row : *point.details.workers->staleness) {
      if (row.shard == spec.below) below = value_of(row.summary, wanted);
      if (row.shard == spec.above) above = value_of(row.summary, wanted);
    }
    return std::make_pair((1 - spec.share) * below + spec.share * above, std::abs(above - below));
  };
  // The published run is far longer than the simulated one, so extremes are extrapolated.
  const bool is_least = spec.statistic == Statistic::min, is_most = spec.statistic == Statistic::max;
  const auto [in_run, step] = of(is_least || is_most ? Statistic::mean : spec.statistic);
  const double mean = of(Statistic::mean).first, deviation = of(Statistic::sd).first;
  const double away = is_most ? kOfExtremes * deviation : is_least ? -kOfExtremes * deviation : 0;
  const double value = std::max(0.0, in_run + away);
  const double others = std::max(1, run.gpus - 1);
  double off = mean * (0.02 + kShareOff * std::max(0.0, 1 - mean / others));
  if (spec.statistic == Statistic::sd) off = kDeviationOff * deviation;
  off = std::hypot(off, kDeviationOff * away);
  off = std::hypot(off, step / 2);
  return {value, std::max(0.0, value - off), value + off, point.method};
}

std::string text_of(const WorkloadTime& time) {
  return fields_to_json(time).dump(-1, ' ', false, Json::error_handler_t::replace);
}

WorkloadTime time_workload(const Workload& run, const TimingOptions& options) {
  const LogTimer timer(LogLevel::debug, "timed a workload of " + std::to_string(run.gpus) + " GPUs");
  const Scenario& scenario = run.scenario;
  try {
    if (run.is_one_gpu()) return with_micro_steps(run, one_gpu_time(run));
    if (run.kind == Workload::Kind::staleness) return staleness_of(run);
    if (run.kind == Workload::Kind::all_reduce) return all_reduces_time(run, options.bounds);
    if (!options.bounds && !scenario.trains_learners() && !scenario.parallel)
      return with_micro_steps(run, closed_form_iteration(run));
    PointRequest request = request_for(scenario, run.gpus, run.batch_per_gpu);
    request.jitter = options.jitter;
    request.has_input_spread = true;
    const PointResult point = predict_point(scenario, request);
    return with_micro_steps(
        run, bounded(point.mean_iteration_s(), 1 - point.interval.low, point.interval.high - 1, point.method));
  } catch (const std::exception& error) {
    WorkloadTime failed;
    failed.failure = error.what();
    return failed;
  }
}

// Returns, for each workload, the index of the first one that takes the same time.
std::vector<std::size_t> firsts_of(const std::vector<const Workload*>& runs) {
  std::vector<std::size_t> firsts;
  std::map<int, std::size_t> first_of_label;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int label = runs[i]->label;
    firsts.push_back(label == 0 ? i : first_of_label.try_emplace(label, i).first->second);
  }
  return firsts;
}

}  // namespace

std::vector<WorkloadTime> time_workloads(const std::vector<const Workload*>& runs, const TimingOptions& asked) {
  TimingOptions options = asked;
  if (options.jobs != 0) options.jitter = nullptr;  // another thread may hold its lock when a process is forked
  const std::vector<std::size_t> firsts = firsts_of(runs);
  std::vector<WorkloadTime> times(runs.size());
  std::vector<std::size_t> shared, apart;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (firsts[i] != i) continue;
    if (runs[i]->is_one_gpu() || options.jobs == 0)
      times[i] = time_workload(*runs[i], options);
    else
      (runs[i]->scenario.fidelity == Fidelity::message ? apart : shared).push_back(i);
  }
  const auto time_all = [&](const std::vector<std::size_t>& places, const auto& processes) {
    const std::vector<std::string> texts =
        processes([&](std::size_t i) { return text_of(time_workload(*runs[places[i]], options)); });
    for (std::size_t i = 0; i < places.size(); ++i)
      times[places[i]] = fields_from_json<WorkloadTime>(Json::parse(texts[i]));
  };
  time_all(shared, [&](const auto& work) { return in_shared_processes(shared.size(), options.jobs, work, "jobs"); });
  time_all(apart, [&](const auto& work) { return in_processes(apart.size(), options.jobs, work, "jobs by messages"); });
  for (std::size_t i = 0; i < runs.size(); ++i) times[i] = times[firsts[i]];
  return times;
}

}  // namespace lockstep::sim::quantity
