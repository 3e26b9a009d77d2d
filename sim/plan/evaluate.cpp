#include "sim/plan/evaluate.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/base/units.hpp"
#include "engine/model/optimizer.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/plan/grid.hpp"
#include "sim/plan/layer_groups.hpp"
#include "sim/plan/variation.hpp"
#include "sim/plan/warnings.hpp"
#include "sim/point/baseline.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/point/calibration.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/replay/failure_clock.hpp"

namespace lockstep::sim::plan {
namespace {

Outcome refused(const std::string& why) {
  Outcome outcome;
  outcome.status = "refused";
  outcome.why = why;
  return outcome;
}

Outcome failed(const std::string& why) {
  Outcome outcome;
  outcome.status = "failed";
  outcome.why = why;
  return outcome;
}

// Returns a convergence with which every scenario can be read, for tasks that need only a throughput.
Setting any_convergence(const PlanSpec& plan) {
  return {"/convergence", R"({"target": "none", "train_samples": 1, "epochs": 1})", plan.path, ""};
}

std::vector<Setting> settings_of(const PlanSpec& plan, const PlanPoint& point, const Task& task) {
  std::vector<Setting> settings = point.settings;
  if (task.gpus > 0) {
    settings = without_gpus(settings);
    settings.push_back({"/gpus", "[" + std::to_string(task.gpus) + "]", plan.path, ""});
  }
  if (task.is_throughput_only) settings.push_back(any_convergence(plan));
  return settings;
}

int learners_of(const Scenario& s) {
  return s.trains_learners() && !s.learners.auto_tune ? s.learners.per_gpu : 1;
}

// Describes the point before the simulation. Refused points have this outcome, too.
Outcome describe(const Scenario& s, const PointRequest& request) {
  Outcome o;
  o.status = "ok";
  o.gpu = s.cluster.gpu.name;
  o.cluster = s.cluster.name;
  o.gpus = request.gpus;
  o.gpus_per_node = s.cluster.gpus_per_node;
  o.nodes = s.cluster.nodes_for(request.gpus);
  o.batch_per_gpu = request.batch_per_gpu;
  o.baseline_gpus = s.baseline_gpus;
  if (s.parallel)
    o.global_batch = static_cast<double>(global_batch_of(*s.parallel, s.parallel_at(request.gpus).data));
  else
    o.global_batch =
        double(request.gpus) * request.batch_per_gpu * learners_of(s) * std::max(1, s.communication.accumulation);
  return o;
}

// Replaces the memory of the cluster's GPU by the plan's limits.
GpuMemory memory_of(const LimitsSpec& limits, const Scenario& s, const PointRequest& request) {
  GpuMemory memory = gpu_memory(s, request.gpus, request.batch_per_gpu);
  if (limits.memory_bytes > 0) memory.capacity_bytes = limits.memory_bytes;
  if (limits.reserved_bytes) memory.reserved_bytes = *limits.reserved_bytes;
  return memory;
}

// Returns why the point exceeds a limit; empty if it does not.
std::string beyond_limits(const LimitsSpec& limits, const Scenario& s, const GpuMemory& memory, const Task& task,
                          const Outcome& o) {
  if (!s.ignores_memory && !memory.fits()) return why_not_in_memory(s, o.gpus, memory);
  if (!task.is_throughput_only && limits.most_global_batch > 0 &&
      o.global_batch > static_cast<double>(limits.most_global_batch))
    return "global batch " + std::to_string(static_cast<std::int64_t>(o.global_batch)) +
           " is above that up to which the work reaches its target; allowed: at most " +
           std::to_string(limits.most_global_batch);
  return "";
}

void set_spread(const InputSpread& spread, Outcome& o) {
  o.spread_compute = spread.compute;
  o.spread_bandwidth = spread.bandwidth;
  o.spread_latency = spread.latency;
}

void set_times(const WorkSpec& work, const Scenario& s, const PointResult& point, Outcome& o) {
  if (work.samples > 0) {
    o.updates = std::ceil(work.samples / point.samples_per_iteration);
    o.time_s = o.updates * o.iteration_s;
    o.time_s_low = o.time_s * o.relative_low;
    o.time_s_high = o.time_s * o.relative_high;
    return;
  }
  const double images = point.samples_per_iteration;
  const IterationsEstimate iterations =
      iterations_to_target(*s.convergence, setting_of(s, point), images, epochs_half_width(s));
  const TimeToAccuracy accuracy = time_to_accuracy(*s.convergence, iterations, images, o.iteration_s,
                                                   point.training_interval.low, point.training_interval.high);
  set_spread(point.training_interval.spread, o);
  o.updates = static_cast<double>(accuracy.iterations);
  o.time_s = accuracy.seconds;
  o.time_s_low = accuracy.low_s;
  o.time_s_high = accuracy.high_s;
  o.warnings.insert(o.warnings.end(), accuracy.notes.begin(), accuracy.notes.end());
}

std::string links_of(const ClusterSpec& cluster) {
  std::string text =
      std::to_string(cluster.nic.per_node) + " x " + format_bandwidth(cluster.nic.link.bandwidth_bytes_per_s) + ", " +
      format_seconds(cluster.nic.link.latency_s) + ", " + format_bandwidth(cluster.fabric.link.bandwidth_bytes_per_s);
  for (const LinkSpec& link : cluster.fabric.fat_tree.links)
    text += ", " + format_bandwidth(link.bandwidth_bytes_per_s) + " " + format_seconds(link.latency_s);
  return text;
}

void set_prediction(const PointResult& point, const Scenario& s, Outcome& o) {
  o.fidelity = point.method.fidelity();
  o.method = point.method.text();
  o.nodes = point.nodes;
  o.tuned_learners = tuned_learners(s, point);
  o.nics = point.nodes > 1 ? point.nodes * s.cluster.nic.per_node : 0;
  o.global_batch = point.samples_per_iteration;
  o.sequence_tokens = s.model.tokens;
  o.iteration_s = point.mean_iteration_s();
  const double peak = utilisation_peak_flops(s.cluster.gpu, s.compute.precision);
  // Not of images: Winograd's convolutions need fewer multiplications than are counted, so that it could exceed 1.
  if (s.model.tokens > 0) o.mfu = model_utilisation(model_flops_per_gpu(s, o.samples_per_s(), point.gpus), peak);
  o.relative_low = point.interval.low;
  o.relative_high = point.interval.high;
  set_spread(point.interval.spread, o);
  o.links = links_of(s.cluster);
  o.compute_s = point.compute_s;
  o.exposed_communication_s = point.exposed_communication_s;
  if (const auto& split = point.details.split; split && split->bubble_fraction > 0)
    o.bubble_s = split->bubble_fraction * split->pipeline_s;
  o.idle_s = point.input_wait_s;
}

FailingJob failing_job(const Scenario& s, const Outcome& o) {
  return {o.nodes, std::min(o.gpus_per_node, o.gpus), checkpoint_bytes(s), o.iteration_s};
}

void apply_failures(const FailureSpec& spec, const Scenario& s, Outcome& o) {
  const FailureProcess process = process_of(spec, failing_job(s, o));
  const auto training = [&](double iterations_s) {
    return predict_failing_training(spec, process, o.nodes, iterations_s * spec.calendar_factor);
  };
  const FailingTraining mean = training(o.time_s);
  if (!std::isfinite(mean.wall_s)) {
    o.status = "refused";
    o.why = why_never(*spec.availability, o.nodes);
    return;
  }
  o.undisturbed_s = o.time_s * spec.calendar_factor;
  o.goodput = o.undisturbed_s / mean.wall_s;
  o.paid_share = mean.held_s / mean.wall_s;
  o.spares = process.spares;
  o.checkpoint_s = process.checkpoint_s;
  o.checkpoint_interval_s = process.interval_s;
  o.interruptions = mean.interruptions;
  o.spot_interruptions = mean.spot_interruptions;
  o.time_s = mean.wall_s;
  // With failures, the interval is at least as wide as without them.
  o.time_s_low = std::min(training(o.time_s_low).shortest_s, mean.shortest_s * spec.calendar_low.value_or(1));
  o.time_s_high = std::max(training(o.time_s_high).longest_s, mean.longest_s * spec.calendar_high.value_or(1));
}

constexpr int kMostRuns = 200, kFewestRuns = 20;
constexpr double kMostCheckpoints = 1e6;  // of all runs together; takes SimGrid seconds

ClockedTime on_clock(const FailureSpec& spec, const Scenario& s, const Outcome& o, std::uint64_t seed) {
  ClockedTrainings trainings;
  trainings.process = process_of(spec, failing_job(s, o));
  trainings.trace = spec.availability ? &*spec.availability : nullptr;
  trainings.nodes = o.nodes;
  trainings.useful_s = o.undisturbed_s;
  const double checkpoints = o.undisturbed_s / trainings.process.interval_s / o.goodput;
  trainings.runs = static_cast<int>(std::clamp(kMostCheckpoints / checkpoints, double(kFewestRuns), double(kMostRuns)));
  trainings.seed = seed;
  std::vector<double> seconds;
  for (const ClockedRun& run : run_on_clock(trainings)) seconds.push_back(run.wall_s);
  return {trainings.runs, mean(seconds), quantile(seconds, 0.1), quantile(seconds, 0.9)};
}

// Sets the best split for the task's number of GPUs. Variations keep the split of the planned point.
Scenario with_best_split(const Scenario& s, const Task& task) {
  const int gpus = task.baseline_gpus > 0 ? task.baseline_gpus : s.gpus.front();
  Scenario split = scenario_with_split(s, best_splits(s, gpus, all_splits(s, gpus), 1).best.front().spec, gpus);
  split.baseline_gpus = s.baseline_gpus;
  return split;
}

// Returns the seconds of the update of a split: each GPU updates its part of the model once after many micro-batches.
std::optional<double> update_of_split(const PointResult& point) {
  if (!point.details.split) return std::nullopt;
  return point.details.split->update_s;
}

// True for a prediction around the answer (RefineSpec::most_messages_around). Baselines are not: they are compared
// with all points, so the limit of messages for points holds for them.
bool is_around_answer(const Task& task) {
  return task.baseline_gpus == 0 && (!task.variation.empty() || task.gpus > 0 || task.wants_layers);
}

PointRequest request_of(const PlanSpec& plan, const Scenario& s, const Task& task) {
  const int gpus = task.baseline_gpus > 0 ? task.baseline_gpus : s.gpus.front();
  PointRequest request = request_for(s, gpus, task.batch_per_gpu > 0 ? task.batch_per_gpu : s.batch_at(gpus));
  request.most_messages = is_around_answer(task) ? plan.refine.most_messages_around : plan.refine.most_messages;
  request.fidelity = task.fidelity;
  return request;
}

}  // namespace

Outcome evaluate(const PlanSpec& plan, const Task& task, ScenarioSeries& series, PointCache* cache) {
  const PlanPoint planned = plan.points[task.point];
  if (!planned.refused.empty()) return refused(planned.refused);
  const Scenario* read = nullptr;
  std::optional<Scenario> searched;
  try {
    read = &scenario_with(plan, settings_of(plan, planned, task), series);
    if (plan.searches_splits) read = &searched.emplace(with_best_split(*read, task));
  } catch (const InputError& error) {
    return refused(error.what());
  }
  try {
    std::optional<Scenario> varied;
    if (!task.variation.empty() || task.baseline_gpus > 0) {
      varied = *read;
      apply_variation(task.variation, *varied);
      if (task.baseline_gpus > 0) varied = baseline_of(*varied, task.learners);
    }
    const Scenario& s = varied ? *varied : *read;
    PointRequest request = request_of(plan, s, task);
    request.cache = cache;
    Outcome outcome = describe(s, request);
    if (searched) outcome.split = split_text(*s.parallel);
    const GpuMemory memory = memory_of(plan.limits, s, request);
    outcome.memory = memory;
    const std::string limit = beyond_limits(plan.limits, s, memory, task, outcome);
    if (!limit.empty()) {
      outcome.status = "refused";
      outcome.why = limit;
      return outcome;
    }
    const PointResult point = predict_point(s, request);
    set_prediction(point, s, outcome);
    outcome.warnings = extrapolations(plan, planned, s, request.gpus, request.batch_per_gpu);
    set_times(plan.work, s, point, outcome);
    if (plan.failures) apply_failures(*plan.failures, s, outcome);
    if (!outcome.is_ok()) return outcome;
    if (task.wants_failure_runs) outcome.clocked = on_clock(*plan.failures, s, outcome, request.seed);
    if (!(outcome.iteration_s > 0) || !std::isfinite(outcome.time_s_high)) return failed("the prediction is no number");
    // Learners that overlap iterations may compute for longer than the mean iteration.
    if (task.wants_layers)
      outcome.layer_groups = layer_groups(s, request.batch_per_gpu, std::min(outcome.compute_s, outcome.iteration_s),
                                          update_of_split(point));
    return outcome;
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

Outcome evaluate(const PlanSpec& plan, const Task& task) {
  ScenarioSeries series(*plan.scenario);
  return evaluate(plan, task, series);
}

bool needs_own_process(const Task& task) {
  return task.wants_failure_runs || task.fidelity == Fidelity::message;
}

}  // namespace lockstep::sim::plan
