#include "sim/point/point.hpp"
#include "sim/point/calibration.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "engine/base/log.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/point/describe.hpp"
#include "sim/point/ecmp_hashes.hpp"
#include "sim/point/learners_point.hpp"
#include "sim/point/point_cache.hpp"
#include "sim/point/split_point.hpp"
#include "sim/point/workers_point.hpp"
#include "sim/program/exchange.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/simgrid_module.hpp"
#include "sim/scenario/profile_quality.hpp"
#include "sim/split/ranks.hpp"

namespace lockstep::sim::point {
namespace {

constexpr double kRounding_s = 1e-12;  // rounding of the sum of an iteration's time differences

// Iterations before the measured ones. The first one waits for its input, and learners that synchronise every tau
// iterations repeat after tau.
int warm_up_iterations(const Scenario& scenario) {
  return scenario.trains_learners() ? std::max(1, scenario.learners.tau) : iterations_of_round(scenario);
}

// Rounds up to a multiple of tau iterations.
int measured_iterations(const Scenario& scenario, int asked) {
  const int round = warm_up_iterations(scenario);
  return (asked + round - 1) / round * round;
}

int learners_of(const Scenario& scenario) {
  return scenario.trains_learners() ? scenario.learners.per_gpu : 1;
}

std::vector<double> bytes_of_calls(const Program& program) {
  std::vector<double> bytes;
  for (const Plan& plan : program.plans)
    if (plan.call) bytes.push_back(static_cast<double>(plan.bytes));
  return bytes;
}

// Computes the interval by the closed form. Imprecise measurements of a profile widen the uncertainty of their group.
// `costs`: of a program with the same plans.
RelativeInterval interval_of(const Scenario& scenario, const Program& program, const PlanCosts& costs, double slowest,
                             const PointResult& point) {
  const MeasuredQuality quality = measured_quality(scenario, point.gpus, point.batch_per_gpu, bytes_of_calls(program));
  const auto iteration_s = [&](const Perturbation& perturbation) {
    const std::vector<double> ends = replay_analytic(program, slowest, perturbation, costs).iteration_end_s;
    const int round = warm_up_iterations(scenario);
    return (ends.back() - ends[ends.size() - 1 - static_cast<std::size_t>(round)]) / round;
  };
  const RelativeInterval interval = relative_interval(widened(scenario.uncertainty, quality), iteration_s);
  if (const std::string why = find_imprecision(quality, interval.high); !why.empty()) throw std::runtime_error(why);
  return interval;
}

// In the closed form every GPU computes. Other replays average over GPUs that only serve, too, so this does as well.
Replay replay_closed_form(const PointRequest& request, const Program& program, const PlanCosts& costs, double slowest) {
  Replay replay = replay_analytic(program, slowest, {}, costs);
  for (double& compute_s : replay.compute_s) compute_s *= double(request.gpus) / program.gpus;
  return replay;
}

// Jitter costs time if GPUs or learners wait for each other. A single GPU gets the mean, which a few random draws would
// miss. So rates measured on it, and efficiencies relative to it, are exact.
Jitter jitter_at(const Scenario& scenario, const PointRequest& request, int program_gpus) {
  if (request.gpus == 1 && !scenario.trains_learners()) return [](int gpu, int) { return gpu == 0 ? 1.0 : 0.0; };
  Jitter jitter = request.jitter != nullptr ? jitter_of(scenario, request.seed, request.gpus, *request.jitter)
                                            : jitter_of(scenario, request.seed);
  return program_gpus == request.gpus ? jitter : workers_only(std::move(jitter), request.gpus);
}

void log_method(const PointResult& point) {
  if (!is_logged(LogLevel::info)) return;
  write_log(LogLevel::info, std::to_string(point.gpus) + " GPUs: " + point.method.text() + ", " +
                                name_of(point.method.error_class()) + " (" + name_of(point.method.reason) + "); " +
                                formatted("%.6g", point.mean_iteration_s()) + " s an iteration, of which " +
                                formatted("%.6g", point.exposed_communication_s) + " s exposed communication; took " +
                                formatted("%.3f", point.wall_s) + " s");
}

// Messages are many times faster if SimGrid may update only changed flows.
void choose_flow_updates(const Scenario& scenario, const PointRequest& request) {
  if (request.fidelity != Fidelity::message || scenario.communication.message_overhead_s <= 0) return;
  const int round = warm_up_iterations(scenario);
  if (sends_one_by_one(build_program(scenario, request.gpus, request.batch_per_gpu, round)))
    set_flow_updates(FlowUpdates::changed);
}

// Predicts a point whose GPUs all run the same program.
PointResult predict_program(const Scenario& as_asked, const PointRequest& request) {
  std::vector<TunerObservation> observed;
  std::optional<Scenario> tuned;
  if (as_asked.learners.auto_tune) tuned = with_tuned_learners(as_asked, request, observed);
  const Scenario& scenario = tuned ? *tuned : as_asked;
  choose_flow_updates(scenario, request);
  PointCache own;
  PointCache& cache = request.cache != nullptr ? *request.cache : own;
  const Cluster& cluster = cache.cluster(scenario.cluster, occupied_gpus(scenario, request.gpus),
                                         input_hosts_of(scenario), scenario.communication.message_overhead_s);
  const int warm_up = warm_up_iterations(scenario), iterations = measured_iterations(scenario, request.iterations);
  PointResult point;
  point.gpus = request.gpus;
  point.nodes = cluster.nodes();
  point.batch_per_gpu = request.batch_per_gpu;
  point.samples_per_iteration =
      request.gpus * double(request.batch_per_gpu) * learners_of(scenario) * scenario.communication.accumulation;
  const int rounds = 3 * warm_up;
  Program program = build_program(scenario, request.gpus, request.batch_per_gpu, std::max(rounds, warm_up + iterations),
                                  &cache.programs());
  const PlanCosts costs = plan_costs(program, cluster, &cache.costs());
  const double slowest = cache.find_expected_slowest(scenario, request.gpus * learners_of(scenario));
  point.interval = interval_of(scenario, first_iterations(program, rounds), costs, slowest, point);
  if (program.iterations > warm_up + iterations) program = first_iterations(program, warm_up + iterations);
  point.bytes_sent_per_gpu = program.bytes_sent_per_gpu_and_iteration();
  point.messages = program.messages_per_iteration();

  ReplayOptions options;
  options.timeline_gpus = request.trace.gpus;
  options.dump_links_at_s = request.trace.links_at_s;
  options.units = costs.units;
  const double messages = point.messages * program.iterations;
  const bool has_choice = request.fidelity == Fidelity::fast || is_logged(LogLevel::debug);
  const ReplaySize size = has_choice ? estimate_replay_size(program) : ReplaySize();
  if (is_logged(LogLevel::debug))
    write_log(LogLevel::debug, "to replay: " + short_number(messages) + " messages, " + short_number(size.steps) +
                                   " steps, " + short_number(size.transfers) + " transfers");
  const Replay replay = replay_by_first(
      options.dump_links_at_s ? choose_dumping_method()
                              : choose_methods(request.fidelity, request.gpus, messages, request.most_messages, size),
      program, cluster, jitter_at(scenario, request, program.gpus), options,
      [&] { return replay_closed_form(request, program, costs, slowest); }, point.method);
  double slowed_s = 0;
  for (int i = warm_up; i < warm_up + iterations; ++i) {
    const std::size_t n = static_cast<std::size_t>(i);
    point.iteration_s.push_back(replay.iteration_end_s[n] - replay.iteration_end_s[n - 1]);
    point.compute_s += replay.compute_s[n] * program.gpus / request.gpus / iterations;
    point.input_wait_s += replay.input_wait_s[n] / iterations;
    slowed_s += replay.slowed_s[n] / learners_of(scenario) / iterations;
  }
  if (has_slowdowns(program)) point.details.compute_slowed_by_collectives_s = slowed_s > kRounding_s ? slowed_s : 0;
  point.exposed_communication_s = std::max(0.0, point.mean_iteration_s() - point.compute_s - point.input_wait_s);
  point.fidelity = request.fidelity;
  point.events = replay.events;
  if (options.dump_links_at_s)
    point.notes.push_back(replay.links_dump.empty() ? "The replay ended before the time of --dump-links."
                                                    : replay.links_dump);
  describe_calls(program, point);
  describe_nccl_fit(scenario, point);
  if (scenario.algorithm == Algorithm::parameter_server) describe_schemes(scenario, request.batch_per_gpu, point);
  if (scenario.trains_learners()) describe_learners(scenario, program, observed, cluster, point);
  if (!request.trace.gpus.empty())
    write_trace_events(program, replay, scenario.cluster.gpus_per_node, request.trace.sink);
  return point;
}

Scenario scenario_at(const Scenario& scenario, const PointRequest& request) {
  Scenario at_point = scenario;
  at_point.compute.busy_devices = std::min(request.gpus, scenario.cluster.gpus_per_node);
  return at_point;
}

}  // namespace

PointRequest request_for(const Scenario& scenario, int gpus, int batch_per_gpu) {
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = batch_per_gpu;
  request.fidelity = scenario.fidelity;
  request.seed = scenario.seed;
  request.iterations = scenario.iterations;
  return request;
}

TrainingSetting setting_of(const Scenario& scenario, const PointResult& point) {
  TrainingSetting setting = training_setting(scenario, point.gpus);
  setting.batch = point.batch_per_gpu;
  if (scenario.algorithm != Algorithm::async_sgd) setting.workers = point.samples_per_iteration / point.batch_per_gpu;
  return setting;
}

double PointResult::mean_iteration_s() const {
  return mean(iteration_s);
}

void apply_overheads(const Scenario& scenario, Cluster& cluster) {
  const double overhead_s = scenario.communication.message_overhead_s;
  cluster.set_message_overhead({overhead_s, overhead_s});
}

bool is_split(const Scenario& scenario) {
  return scenario.parallel && !scenario.parallel->is_data_parallel_alone();
}

std::vector<int> traced_gpus(const Scenario& scenario, int gpus) {
  constexpr int kFirst = 16;
  std::vector<int> traced;
  if (is_split(scenario)) {
    const RankOrder order(scenario.parallel_at(gpus));
    const int stages = order.size(ParallelDimension::pipeline);
    for (int stage = 0; stage < stages; ++stage) traced.push_back(stage * order.stride(ParallelDimension::pipeline));
    return traced;
  }
  for (int gpu = 0; gpu < std::min(gpus, kFirst); ++gpu) traced.push_back(gpu);
  if (gpus > kFirst) traced.push_back(gpus - 1);
  return traced;
}

PointResult predict_point(const Scenario& scenario, const PointRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  Scenario at_point = scenario_at(scenario, request);
  if (scenario.parallel && !is_split(scenario)) at_point = without_split(at_point, request.gpus);
  const auto predict = [](const Scenario& one, const PointRequest& of_hash) {
    if (is_split(one)) return predict_split(one, of_hash);
    if (one.workers) return predict_workers(one, of_hash);
    return predict_program(one, of_hash);
  };
  PointResult point = has_several_hashes(at_point, request.gpus) ? predict_median_hash(at_point, request, predict)
                                                                 : predict(at_point, request);
  point.training_interval = point.interval;
  if (!request.has_input_spread) calibrate_intervals(scenario, point);
  point.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  log_method(point);
  return point;
}

}  // namespace lockstep::sim::point
