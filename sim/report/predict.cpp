#include <algorithm>
#include <cmath>
#include <map>

#include "sim/report/result.hpp"
#include "sim/scenario/profile_range.hpp"

namespace lockstep::sim {
namespace {

struct Requests {
  std::vector<PointRequest> all;
  std::vector<std::size_t> baseline_of;  ///< per scenario point, the request that is its baseline
};

PointRequest request_for(const Scenario& scenario, int gpus, int batch) {
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = batch;
  request.fidelity = scenario.fidelity;
  request.seed = scenario.seed;
  request.iterations = scenario.iterations;
  return request;
}

// The scenario's points first, then the baselines that are not among them.
Requests requests_of(const Scenario& scenario) {
  Requests requests;
  std::map<std::pair<int, int>, std::size_t> index;
  for (int gpus : scenario.gpus) {
    const int batch = scenario.batch_at(gpus);
    index.emplace(std::make_pair(gpus, batch), requests.all.size());
    requests.all.push_back(request_for(scenario, gpus, batch));
  }
  for (int gpus : scenario.gpus) {
    const int batch = scenario.batch_at(gpus);
    const auto [entry, is_new] = index.try_emplace({scenario.baseline_gpus, batch}, requests.all.size());
    if (is_new) requests.all.push_back(request_for(scenario, scenario.baseline_gpus, batch));
    requests.baseline_of.push_back(entry->second);
  }
  return requests;
}

double samples_per_s_and_gpu(const PointResult& point) {
  return point.samples_per_s() / point.gpus;
}

// Where the point reaches beyond its profile: for the reader of the table and of the result file.
std::vector<std::string> extrapolations(const Scenario& scenario, const PointResult& point) {
  std::vector<double> call_bytes;
  for (const Json& call : point.details.value("calls", Json::array()))
    call_bytes.push_back(call["bytes"].get<double>());
  std::vector<std::string> lines = beyond_profile(scenario, point.gpus, point.batch_per_gpu);
  for (const std::string& line : calls_beyond_profile(scenario, point.gpus, point.nodes, call_bytes))
    lines.push_back(line);
  for (const std::string& line : overlap_beyond_profile(scenario, point.gpus, point.batch_per_gpu, call_bytes))
    lines.push_back(line);
  for (std::string& line : lines) line = std::to_string(point.gpus) + " GPUs: " + line;
  return lines;
}

ReportPoint report_point(const Scenario& scenario, const PointResult& point, const PointResult& baseline) {
  ReportPoint row;
  row.variant = scenario.variant;
  row.point = point;
  row.extrapolations = extrapolations(scenario, point);
  row.point.notes.insert(row.point.notes.end(), row.extrapolations.begin(), row.extrapolations.end());
  row.global_batch = std::llround(point.samples_per_iteration);
  row.scaling_efficiency = samples_per_s_and_gpu(point) / samples_per_s_and_gpu(baseline);
  if (scenario.convergence) {
    row.has_accuracy = true;
    const double images = point.samples_per_iteration;
    const IterationsEstimate iterations =
        iterations_to_target(*scenario.convergence, setting_of(scenario, point), images, scenario.uncertainty.epochs);
    row.accuracy = time_to_accuracy(*scenario.convergence, iterations, images, point.mean_iteration_s(),
                                    point.relative_low, point.relative_high);
    row.point.notes.insert(row.point.notes.end(), iterations.notes.begin(), iterations.notes.end());
  }
  return row;
}

// All but throughput_gain, which needs another row.
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

// Samples/s over those of another variant at the same GPU count, minus 1; NaN where that was not predicted.
double throughput_gain(const ReportPoint& row, const std::string& over, const std::vector<ReportPoint>& points) {
  for (const ReportPoint& other : points)
    if (other.variant == over && other.point.gpus == row.point.gpus)
      return row.point.samples_per_s() / other.point.samples_per_s() - 1;
  return std::nan("");
}

// Published results whose GPU count was predicted.
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

}  // namespace

Report predict(const LoadedScenario& loaded, int jobs, const std::vector<int>& trace_gpus,
               const std::function<void(std::size_t done, std::size_t of)>& progress) {
  std::vector<Requests> by_variant;
  std::vector<PointJob> all;
  for (const Scenario& scenario : loaded.variants) {
    Requests requests = requests_of(scenario);
    if (!trace_gpus.empty() && by_variant.empty()) {
      const auto largest = std::max_element(scenario.gpus.begin(), scenario.gpus.end());
      requests.all[static_cast<std::size_t>(largest - scenario.gpus.begin())].trace_gpus = trace_gpus;
    }
    for (const PointRequest& request : requests.all) all.push_back({&scenario, request});
    by_variant.push_back(std::move(requests));
  }
  const std::vector<PointResult> results = predict_points(all, jobs, [&](std::size_t done) {
    if (progress) progress(done, all.size());
  });

  Report report{loaded, {}, {}};
  std::size_t first = 0;
  for (std::size_t v = 0; v < loaded.variants.size(); ++v) {
    const Scenario& scenario = loaded.variants[v];
    for (std::size_t i = 0; i < scenario.gpus.size(); ++i) {
      report.points.push_back(
          report_point(scenario, results[first + i], results[first + by_variant[v].baseline_of[i]]));
    }
    first += by_variant[v].all.size();
  }
  for (const Scenario& scenario : loaded.variants)
    for (const ReportPoint& row : report.points)
      if (row.variant == scenario.variant) compare(scenario, row, report);
  return report;
}

}  // namespace lockstep::sim
