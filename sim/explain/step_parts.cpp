#include "sim/explain/step_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/base/statistics.hpp"
#include "sim/explain/rank_waits.hpp"
#include "sim/point/point.hpp"
#include "sim/point/split_point.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replica/iteration.hpp"

namespace lockstep::sim::explain {
namespace {

using calib::part_of;
using calib::PartSeconds;
using calib::StepPart;

constexpr double kLeastLag = 0.02;  // of the step, of a straggler behind the others

double sum_of(const PartSeconds& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

StepPart part_of_layer(const model::Layer& layer) {
  if (layer.kind == model::LayerKind::attention) return layer.attention.fused ? StepPart::attention : StepPart::memory;
  return layer.macs > 0 && layer.kind != model::LayerKind::recurrence ? StepPart::gemm : StepPart::memory;
}

Scenario without_launches_of_host(const Scenario& scenario) {
  Scenario changed = scenario;
  changed.compute.host_launch_s = 0;
  return changed;
}

// Returns the seconds that slow launches by the host add to computation. A relative difference up to 1e-9 is rounding.
double added_by_host(double with_host_s, double without_host_s) {
  const double added_s = with_host_s - without_host_s;
  return added_s > 1e-9 * with_host_s ? added_s : 0;
}

// Seconds of the forward and backward passes of all blocks.
struct PassesTime {
  double gemm_s = 0, attention_s = 0, total_s = 0;
};

PassesTime passes_of(const SplitModel& model) {
  PassesTime time;
  const auto add = [&](const BlockSeconds& block) {
    time.gemm_s += block.products_s;
    time.attention_s += block.attention_s;
    time.total_s += block.forward_s + block.backward_s;
  };
  add(model.seconds().embedding);
  add(model.seconds().loss);
  for (const BlockSeconds& block : model.seconds().blocks) add(block);
  return time;
}

PartSeconds parts_of_split(const Scenario& scenario, int gpus) {
  Cluster cluster(scenario.cluster, gpus);
  apply_overheads(scenario, cluster);
  SplitModel model(scenario, cluster, gpus);
  const Scenario of_gpu = without_launches_of_host(scenario);
  SplitModel model_of_gpu(of_gpu, cluster, gpus);
  const PassesTime all = passes_of(model), busy = passes_of(model_of_gpu);
  const SplitIteration iteration = model.iteration(expected_slowest(scenario, gpus));
  const SplitSeconds& gpu = iteration.of_gpu;
  const double per_pass = all.total_s > 0 ? (gpu.compute_s - gpu.update_s) / all.total_s : 0;
  PartSeconds parts{};
  part_of(parts, StepPart::gemm) = per_pass * busy.gemm_s;
  part_of(parts, model.job().shape.has_fused_attention ? StepPart::attention : StepPart::memory) =
      per_pass * busy.attention_s;
  part_of(parts, StepPart::memory) += per_pass * (busy.total_s - busy.gemm_s - busy.attention_s) + gpu.update_s;
  part_of(parts, StepPart::host) = per_pass * added_by_host(all.total_s, busy.total_s);
  part_of(parts, StepPart::communication) = gpu.tensor_s + gpu.context_s + gpu.expert_s + gpu.sharding_s +
                                            iteration.exposed_exchange_s +
                                            iteration.bubble_fraction * iteration.pipeline_s;
  return parts;
}

PartSeconds parts_of_replica(const Workload& workload) {
  const bool is_plain = !workload.scenario.parallel;
  const Scenario scenario = is_plain ? workload.scenario : without_split(workload.scenario, workload.gpus);
  const int batch = is_plain ? workload.batch_per_gpu : workload.scenario.parallel_at(workload.gpus).micro_batch;
  const int passes = std::max({1, workload.accumulation, scenario.communication.accumulation});
  const ModelCost all = model_cost(scenario, batch), busy = model_cost(without_launches_of_host(scenario), batch);
  PartSeconds parts{};
  for (std::size_t i = 0; i < busy.layers.size(); ++i)
    part_of(parts, part_of_layer(scenario.model.layers[i])) +=
        passes * (busy.layers[i].forward_s + busy.layers[i].backward_s);
  part_of(parts, StepPart::memory) += busy.update_s;
  part_of(parts, StepPart::host) =
      passes * added_by_host(all.forward_s() + all.backward_s(), busy.forward_s() + busy.backward_s());
  if (workload.gpus == 1) return parts;
  PointRequest request = request_for(scenario, workload.gpus, batch);
  request.fidelity = Fidelity::analytic;
  const PointResult point = predict_point(scenario, request);
  part_of(parts, StepPart::communication) = point.exposed_communication_s;
  part_of(parts, StepPart::host) += point.input_wait_s;
  return parts;
}

// Calls of one operation and size over the ranks.
std::vector<CollectiveTime> measured_collectives(const TracedJob& traced, const RankAnalysis& analysis) {
  std::map<std::tuple<std::string, int, std::int64_t>, CollectiveTime> all;
  const auto ranks = static_cast<double>(traced.ranks.size());
  for (const calib::StepTrace& rank : traced.ranks)
    for (const calib::StepCollective& one : traced.median_step_of(rank).collectives) {
      const auto [entry, is_new] = all.try_emplace({one.operation, one.ranks, one.bytes});
      CollectiveTime& time = entry->second;
      if (is_new) time = {one.operation, one.ranks, one.bytes, one.calls, one.seconds, 0, {}};
      if (one.seconds < time.measured_s) {
        time.measured_s = one.seconds;
        time.calls = one.calls;
      }
      time.exposed_s += one.exposed_s / ranks;
    }
  std::vector<CollectiveTime> list;
  for (auto& [key, time] : all) {
    const auto transfer = analysis.transfer_s.find(key);
    if (transfer != analysis.transfer_s.end()) time.measured_s = time.calls * transfer->second;
    list.push_back(time);
  }
  return list;
}

void set_straggler(StepBreakdown& breakdown, std::size_t rank, double lag_s) {
  if (lag_s < kLeastLag * breakdown.measured_s) return;
  breakdown.straggler = rank;
  breakdown.wait_for_straggler_s = lag_s;
}

void find_straggler(StepBreakdown& breakdown) {
  if (breakdown.ranks.size() < 2) return;
  if (breakdown.matched_calls > 0) {
    const auto last =
        std::max_element(breakdown.ranks.begin(), breakdown.ranks.end(),
                         [](const TracedRank& a, const TracedRank& b) { return a.waits.delays_s < b.waits.delays_s; });
    return set_straggler(breakdown, static_cast<std::size_t>(last - breakdown.ranks.begin()), last->waits.delays_s);
  }
  const auto slowest = static_cast<std::size_t>(
      std::max_element(breakdown.ranks.begin(), breakdown.ranks.end(),
                       [](const TracedRank& a, const TracedRank& b) { return a.own_s < b.own_s; }) -
      breakdown.ranks.begin());
  std::vector<double> others;
  for (std::size_t i = 0; i < breakdown.ranks.size(); ++i)
    if (i != slowest) others.push_back(breakdown.ranks[i].own_s);
  set_straggler(breakdown, slowest, breakdown.ranks[slowest].own_s - median(others));
}

}  // namespace

const calib::TracedStep& TracedJob::median_step_of(const calib::StepTrace& rank) const {
  return *std::find_if(rank.steps.begin(), rank.steps.end(),
                       [&](const calib::TracedStep& one) { return one.number == step; });
}

double TracedJob::seconds() const {
  return sum_of(parts());
}

PartSeconds TracedJob::parts() const {
  PartSeconds mean{};
  for (const calib::StepTrace& rank : ranks)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += median_step_of(rank).parts[i] / static_cast<double>(ranks.size());
  return mean;
}

double TracedJob::scatter() const {
  std::vector<double> logs;
  for (const calib::TracedStep& one : ranks.front().steps) logs.push_back(std::log(one.seconds));
  return standard_deviation(logs);
}

TracedJob join_ranks(std::vector<calib::StepTrace> ranks) {
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const calib::StepTrace& a, const calib::StepTrace& b) { return a.rank < b.rank; });
  std::map<std::int64_t, std::vector<double>> seconds_of_steps;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const calib::TracedStep& step : ranks[i].steps) seconds_of_steps[step.number].push_back(step.seconds);
    if (i == 0) continue;
    const calib::StepTrace &one = ranks[i], &before = ranks[i - 1];
    if (one.world_size != before.world_size)
      throw InputError(one.file + ": is of " + std::to_string(one.world_size) + " processes, and " + before.file +
                       " of " + std::to_string(before.world_size) + "; allowed: traces of one job");
    if (one.rank == before.rank)
      throw InputError(one.file + ": is of rank " + std::to_string(one.rank) + ", as " + before.file +
                       " is; allowed: one trace of each rank");
  }
  std::vector<std::pair<double, std::int64_t>> means;
  for (const auto& [number, seconds] : seconds_of_steps)
    if (seconds.size() == ranks.size()) means.emplace_back(mean(seconds), number);
  if (means.empty())
    throw InputError(ranks.back().file + ": has no step that the other traces have; allowed: traces of the same steps");
  std::sort(means.begin(), means.end());
  return {std::move(ranks), means[(means.size() - 1) / 2].second};
}

PartSeconds predict_parts(const Workload& workload, double seconds) {
  PartSeconds parts =
      is_split(workload.scenario) ? parts_of_split(workload.scenario, workload.gpus) : parts_of_replica(workload);
  const double factor = seconds / sum_of(parts);
  for (double& part : parts) part *= factor;
  return parts;
}

StepBreakdown break_down(const TracedJob& traced, const Expected& expected, const PartSeconds& expected_parts) {
  StepBreakdown breakdown;
  breakdown.step = traced.step;
  breakdown.measured_s = traced.seconds();
  breakdown.expected = expected;
  const PartSeconds measured = traced.parts();
  const double low = expected.low_s / expected.seconds, high = expected.high_s / expected.seconds;
  for (std::size_t i = 0; i < calib::kStepParts; ++i)
    breakdown.parts.push_back({static_cast<StepPart>(i),
                               measured[i],
                               {expected_parts[i], low * expected_parts[i], high * expected_parts[i]}});
  breakdown.world_size = traced.ranks.front().world_size;
  RankAnalysis analysis = analyse_ranks(traced);
  breakdown.collectives = measured_collectives(traced, analysis);
  for (const calib::StepTrace& rank : traced.ranks) {
    const calib::TracedStep& step = traced.median_step_of(rank);
    breakdown.ranks.push_back(
        {rank.file, rank.rank, step.seconds, step.spans, step.seconds - part_of(step.parts, StepPart::communication)});
  }
  for (std::size_t i = 0; i < breakdown.ranks.size(); ++i) breakdown.ranks[i].waits = analysis.ranks[i];
  breakdown.matched_calls = analysis.matched_calls;
  breakdown.path = std::move(analysis.path);
  find_straggler(breakdown);
  return breakdown;
}

}  // namespace lockstep::sim::explain
