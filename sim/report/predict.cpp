#include <algorithm>
#include <map>

#include "sim/report/result.hpp"

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
  request.fidelity = fidelity_from(scenario.fidelity);
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

double samples_per_s_and_gpu(const PointResult& point) { return point.samples_per_s() / point.gpus; }

}  // namespace

Report predict(const LoadedScenario& loaded, int jobs, const std::vector<int>& trace_gpus,
               const std::function<void(std::size_t done, std::size_t of)>& progress) {
  const Scenario& scenario = loaded.scenario;
  Requests requests = requests_of(scenario);
  if (!trace_gpus.empty()) {
    const auto largest = std::max_element(scenario.gpus.begin(), scenario.gpus.end());
    requests.all[static_cast<std::size_t>(largest - scenario.gpus.begin())].trace_gpus = trace_gpus;
  }
  const auto report_progress = [&](std::size_t done) {
    if (progress) progress(done, requests.all.size());
  };
  const std::vector<PointResult> results = predict_points(scenario, requests.all, jobs, report_progress);

  Report report{loaded, {}};
  for (std::size_t i = 0; i < scenario.gpus.size(); ++i) {
    ReportPoint row;
    row.point = results[i];
    row.global_batch = std::int64_t{row.point.gpus} * row.point.batch_per_gpu;
    row.scaling_efficiency = samples_per_s_and_gpu(row.point) / samples_per_s_and_gpu(results[requests.baseline_of[i]]);
    if (scenario.convergence) {
      row.has_accuracy = true;
      row.accuracy = time_to_accuracy(*scenario.convergence, scenario.uncertainty.epochs, row.global_batch,
                                      row.point.mean_iteration_s(), row.point.relative_low, row.point.relative_high);
    }
    report.points.push_back(std::move(row));
  }
  return report;
}

}  // namespace lockstep::sim
