#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>

#include "sim/convergence/profile.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/point/baseline.hpp"
#include "sim/point/calibration.hpp"
#include "sim/program/split_job.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/report/result.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/profile_quality.hpp"
#include "sim/scenario/profile_range.hpp"

namespace lockstep::sim::report {
namespace {

// Every point and every baseline, each predicted once. Baselines that depend on a point's result are predicted in a
// second round.
class Predictions {
 public:
  Predictions(const std::vector<Scenario>& variants, const TraceRequest& trace) : variants_(variants) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const Scenario& s = variants[v];
      points_.emplace_back();
      for (int gpus : s.gpus) points_[v].push_back(add(s, request_for(s, gpus, s.batch_at(gpus))));
    }
    if (trace.gpus.empty() && !trace.links_at_s) return;
    const std::vector<int>& gpus = variants.front().gpus;
    const auto largest = std::max_element(gpus.begin(), gpus.end()) - gpus.begin();
    jobs_[points_.front()[static_cast<std::size_t>(largest)]].request.trace = trace;
  }

  void run(int jobs) {
    add_baselines(false);
    run_added(jobs);
    add_baselines(true);
    run_added(jobs);
  }

  const PointResult& point(std::size_t variant, std::size_t i) const { return results_[points_[variant][i]]; }
  const PointResult& baseline(std::size_t variant, std::size_t i) const {
    return results_[baselines_.at({variant, learners(variant, i), point(variant, i).batch_per_gpu})];
  }

 private:
  std::size_t add(const Scenario& scenario, const PointRequest& request) {
    jobs_.push_back({&scenario, request});
    return jobs_.size() - 1;
  }

  bool is_tuned(std::size_t variant) const {
    return variants_[variant].trains_learners() && variants_[variant].learners.auto_tune;
  }
  int learners(std::size_t variant, std::size_t i) const {
    return is_tuned(variant) ? tuned_learners(variants_[variant], point(variant, i)) : 0;
  }

  void add_baselines(bool of_tuned) {
    for (std::size_t v = 0; v < variants_.size(); ++v)
      for (std::size_t i = 0; is_tuned(v) == of_tuned && i < points_[v].size(); ++i) {
        const int batch = jobs_[points_[v][i]].request.batch_per_gpu;
        const auto [entry, is_new] = baselines_.try_emplace({v, learners(v, i), batch}, 0);
        if (is_new) entry->second = baseline_for(v, learners(v, i), batch);
      }
  }

  // A point of the scenario that is identical to the baseline, else a job of its own.
  std::size_t baseline_for(std::size_t v, int learners_per_gpu, int batch) {
    const Scenario& s = variants_[v];
    for (std::size_t i = 0; i < points_[v].size(); ++i) {
      const PointRequest& request = jobs_[points_[v][i]].request;
      if (request.gpus != s.baseline_gpus || request.batch_per_gpu != batch) continue;
      if (is_tuned(v) ? learners(v, i) == learners_per_gpu : is_own_baseline(s)) return points_[v][i];
    }
    baseline_scenarios_.push_back(baseline_of(s, learners_per_gpu));
    return add(baseline_scenarios_.back(), request_for(s, s.baseline_gpus, batch));
  }

  void run_added(int jobs) {
    const std::size_t before = results_.size();
    const std::vector<PointJob> added(jobs_.begin() + static_cast<std::ptrdiff_t>(before), jobs_.end());
    for (PointResult& result : predict_points(added, jobs)) results_.push_back(std::move(result));
  }

  const std::vector<Scenario>& variants_;
  std::deque<Scenario> baseline_scenarios_;  // a deque, because pointers to its elements must stay valid
  std::vector<PointJob> jobs_;
  std::vector<PointResult> results_;                                    // of the jobs
  std::vector<std::vector<std::size_t>> points_;                        // jobs, by variant and GPU count
  std::map<std::tuple<std::size_t, int, int>, std::size_t> baselines_;  // jobs, by variant, tuned learners, batch
};

std::string bounds_text(const PointResult& point) {
  const double rate = point.samples_per_s();
  return "between " + rate_text(rate / point.interval.high) + " and " + rate_text(rate / point.interval.low) +
         " images/s";
}

// Where the point exceeds its profile's range, for readers of the table and of the result file.
std::vector<std::string> extrapolations(const Scenario& scenario, const PointResult& point) {
  std::vector<double> call_bytes;
  for (const CollectiveCall& call : point.details.calls) call_bytes.push_back(static_cast<double>(call.bytes));
  std::vector<std::string> lines = profile_range_warnings(scenario, point.gpus, point.batch_per_gpu);
  for (const std::string& line : unrated_batch_warnings(scenario, point.batch_per_gpu)) lines.push_back(line);
  for (const std::string& line : calls_beyond_profile(scenario, point.gpus, point.nodes, call_bytes))
    lines.push_back(line);
  for (const std::string& line : overlap_beyond_profile(scenario, point.gpus, point.batch_per_gpu, call_bytes))
    lines.push_back(line);
  const std::vector<std::string> imprecise = imprecise_inputs(scenario, point.gpus, point.batch_per_gpu, call_bytes);
  lines.insert(lines.end(), imprecise.begin(), imprecise.end());
  if (!imprecise.empty()) lines.push_back(bounds_text(point));
  for (std::string& line : lines) line = std::to_string(point.gpus) + " GPUs: " + line;
  return lines;
}

// With the number of learners that the auto-tuner chose.
GpuMemory memory_of(const Scenario& scenario, const PointResult& point) {
  if (!scenario.trains_learners() || !scenario.learners.auto_tune)
    return gpu_memory(scenario, point.gpus, point.batch_per_gpu);
  Scenario tuned = scenario;
  tuned.learners.auto_tune.reset();
  tuned.learners.per_gpu = point.details.learners->learners_per_gpu;
  return gpu_memory(tuned, point.gpus, point.batch_per_gpu);
}

void count_tokens(const Scenario& scenario, ReportPoint& row) {
  if (scenario.model.tokens == 0) return;
  const double samples_per_s = row.point.samples_per_s();
  row.tokens_per_s = samples_per_s * scenario.model.tokens;
  row.model_flops_per_gpu = model_flops_per_gpu(scenario, samples_per_s, row.point.gpus);
  row.peak_flops = utilisation_peak_flops(scenario.cluster.gpu, scenario.compute.precision);
  row.recomputed_share = recomputed_share(scenario);
}

ReportPoint report_point(const Scenario& scenario, const PointResult& point, const PointResult& baseline) {
  ReportPoint row;
  row.variant = scenario.variant;
  row.point = point;
  row.extrapolations = extrapolations(scenario, point);
  row.point.notes.insert(row.point.notes.end(), row.extrapolations.begin(), row.extrapolations.end());
  row.global_batch = std::llround(point.samples_per_iteration);
  row.memory = memory_of(scenario, point);
  count_tokens(scenario, row);
  row.scaling_efficiency = samples_per_s_and_gpu(work_of(point)) / samples_per_s_and_gpu(work_of(baseline));
  const std::string why = above_baseline(scenario, work_of(point), work_of(baseline));
  if (!why.empty()) row.point.notes.push_back(why);
  if (scenario.convergence) {
    row.has_accuracy = true;
    const double images = point.samples_per_iteration;
    const IterationsEstimate iterations =
        iterations_to_target(*scenario.convergence, setting_of(scenario, point), images, epochs_half_width(scenario));
    row.accuracy = time_to_accuracy(*scenario.convergence, iterations, images, point.mean_iteration_s(),
                                    point.training_interval.low, point.training_interval.high);
    row.point.notes.insert(row.point.notes.end(), iterations.notes.begin(), iterations.notes.end());
  }
  return row;
}

// Returns the value of any metric except throughput_gain, which needs another row.
double predicted_value(const ReportPoint& row, PublishedMetric metric) {
  switch (metric) {
    case PublishedMetric::scaling_efficiency:
      return row.scaling_efficiency;
    case PublishedMetric::samples_per_s:
      return row.point.samples_per_s();
    case PublishedMetric::iteration:
      return row.point.mean_iteration_s();
    case PublishedMetric::time_to_accuracy:
    case PublishedMetric::throughput_gain:
      break;
  }
  return row.accuracy.seconds;
}

// Samples/s relative to another variant's at the same number of GPUs, minus 1; NaN if that was not predicted.
double throughput_gain(const ReportPoint& row, const std::string& over, const std::vector<ReportPoint>& points) {
  for (const ReportPoint& other : points)
    if (other.variant == over && other.point.gpus == row.point.gpus)
      return row.point.samples_per_s() / other.point.samples_per_s() - 1;
  return std::nan("");
}

// Compares published results with predictions at the same number of GPUs.
void compare(const Scenario& scenario, const ReportPoint& row, Report& report) {
  for (const PublishedSpec& published : scenario.published) {
    if (published.gpus != row.point.gpus ||
        (published.metric == PublishedMetric::time_to_accuracy && !row.has_accuracy))
      continue;
    const double predicted = published.metric == PublishedMetric::throughput_gain
                                 ? throughput_gain(row, published.over, report.points)
                                 : predicted_value(row, published.metric);
    if (!std::isnan(predicted)) report.comparisons.push_back({scenario.variant, published, predicted});
  }
}

// Model and split can be compared only when the model's numbers are known: heads, columns and experts must be
// divisible.
void check_split(const Scenario& scenario, int gpus, const std::string& file) {
  if (!scenario.model.transformer) return;
  try {
    split_job(scenario, gpus);
  } catch (const InputError& error) {
    throw InputError(file + ": " + error.what());
  }
}

// Predicts all jobs together, or one job with background traffic on each of its numbers of GPUs.
std::vector<SharedCluster> predict_shared(const LoadedScenario& loaded) {
  std::vector<JobOnGpus> jobs;
  for (const Scenario& scenario : loaded.variants) jobs.push_back({&scenario, scenario.gpus.front()});
  if (jobs.size() > 1) return {predict_shared_cluster(jobs)};
  std::vector<SharedCluster> shared;
  for (const int gpus : loaded.variants.front().gpus)
    shared.push_back(predict_shared_cluster({{&loaded.variants.front(), gpus}}));
  return shared;
}

}  // namespace

std::vector<SharedJob> jobs_of(const std::vector<SharedCluster>& shared) {
  std::vector<SharedJob> jobs;
  for (const SharedCluster& cluster : shared) jobs.insert(jobs.end(), cluster.jobs.begin(), cluster.jobs.end());
  return jobs;
}

void check_memory(const LoadedScenario& loaded, const std::string& file) {
  for (const Scenario& scenario : loaded.variants) {
    const std::string pointer = scenario.trains_learners() ? "/learners/per_gpu"
                                : scenario.parallel        ? "/parallel"
                                                           : "/batch_per_gpu";
    const std::string variant = scenario.variant.empty() ? "" : " (" + scenario.variant + ")";
    for (const int gpus : scenario.gpus) {
      if (scenario.parallel) check_split(scenario, gpus, file);
      check_memory(scenario, gpus, scenario.batch_at(gpus), file + ": " + pointer + variant);
    }
  }
}

Report predict(const LoadedScenario& loaded, int jobs, const TraceRequest& trace) {
  Predictions predictions(loaded.variants, trace);
  predictions.run(jobs);
  Report report{loaded, {}, {}, {}};
  for (std::size_t v = 0; v < loaded.variants.size(); ++v)
    for (std::size_t i = 0; i < loaded.variants[v].gpus.size(); ++i)
      report.points.push_back(report_point(loaded.variants[v], predictions.point(v, i), predictions.baseline(v, i)));
  for (const Scenario& scenario : loaded.variants)
    for (const ReportPoint& row : report.points)
      if (row.variant == scenario.variant) compare(scenario, row, report);
  if (loaded.shares_cluster) report.shared = predict_shared(loaded);
  return report;
}

}  // namespace lockstep::sim::report
