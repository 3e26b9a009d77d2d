#include "sim/point/baseline.hpp"

#include "engine/base/text.hpp"

namespace lockstep::sim::point {
namespace {

constexpr double kShown = 1.0005;     // 100.1 % in the table
constexpr double kLeastShare = 5e-5;  // of an iteration; smaller differences are not reported

std::string compute_cause(const Scenario& s, const GpuWork& point, const GpuWork& baseline) {
  if (s.algorithm == Algorithm::sharded && point.gpus > baseline.gpus)
    return "a GPU updates 1/" + std::to_string(point.gpus) + " of the parameters instead of " +
           (baseline.gpus == 1 ? std::string("all") : "1/" + std::to_string(baseline.gpus));
  return "a GPU computes for less time";
}

std::string communication_cause(const Scenario& s, const GpuWork& point, const GpuWork& baseline) {
  if (point.gpus < baseline.gpus) return "fewer GPUs exchange less and wait less for each other";
  if (s.trains_learners()) return "synchronisation falls on layers that leave more of the GPU to it";
  if (s.algorithm == Algorithm::backup_workers) return "it does not wait for the slowest gradients";
  return "a GPU waits less for others";
}

std::string milliseconds(double seconds) {
  return formatted("%.3g ms", seconds * 1e3);
}

}  // namespace

int tuned_learners(const Scenario& scenario, const PointResult& point) {
  if (!scenario.trains_learners() || !scenario.learners.auto_tune) return 0;
  return point.details.learners->learners_per_gpu;
}

bool is_own_baseline(const Scenario& scenario) {
  if (scenario.trains_learners()) return !scenario.learners.auto_tune;
  if (scenario.algorithm != Algorithm::backup_workers) return true;
  const WorkersSpec& workers = *scenario.workers;
  return workers.backups == 0 && workers.aggregate == 0 && workers.timeout_s == 0;
}

Scenario baseline_of(const Scenario& scenario, int learners) {
  Scenario baseline = scenario;
  if (learners > 0) {
    baseline.learners.per_gpu = learners;
    baseline.learners.auto_tune.reset();
  }
  if (scenario.algorithm == Algorithm::backup_workers) {
    baseline.workers->backups = 0;
    baseline.workers->aggregate = 0;
    baseline.workers->timeout_s = 0;
  }
  return baseline;
}

GpuWork work_of(const PointResult& point) {
  return {point.gpus,      point.samples_per_iteration,   point.mean_iteration_s(),
          point.compute_s, point.exposed_communication_s, point.input_wait_s};
}

double samples_per_s_and_gpu(const GpuWork& work) {
  return work.samples_per_iteration / work.iteration_s / work.gpus;
}

std::string above_baseline(const Scenario& scenario, const GpuWork& point, const GpuWork& baseline) {
  const double efficiency = samples_per_s_and_gpu(point) / samples_per_s_and_gpu(baseline);
  if (!(efficiency >= kShown)) return "";
  std::string causes;
  const auto add = [&](double point_s, double baseline_s, const std::string& cause) {
    if (baseline_s - point_s <= kLeastShare * baseline.iteration_s) return;
    causes += (causes.empty() ? "" : "; ") + cause + " (" + milliseconds(point_s) + " of an iteration, " +
              milliseconds(baseline_s) + " of the baseline's)";
  };
  add(point.compute_s, baseline.compute_s, compute_cause(scenario, point, baseline));
  add(point.exposed_communication_s, baseline.exposed_communication_s, communication_cause(scenario, point, baseline));
  add(point.input_wait_s, baseline.input_wait_s, "a GPU waits less for its input");
  return std::to_string(point.gpus) + " GPUs: " + percent(efficiency) +
         " of the throughput per GPU of the baseline's " + std::to_string(baseline.gpus) + ": " +
         (causes.empty() ? "its iterations vary at random" : causes) + ".";
}

}  // namespace lockstep::sim::point
