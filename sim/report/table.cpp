#include <algorithm>
#include <map>
#include <set>

#include "sim/convergence/profile.hpp"
#include "sim/report/result.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/profile_quality.hpp"

namespace lockstep::sim::report {
namespace {

std::string communication_text(const CommunicationSpec& c) {
  std::string text = name_of(c.all_reduce) + " all-reduce";
  if (c.all_reduce == AllReduceKind::hierarchical || c.all_reduce == AllReduceKind::hybrid)
    text += ", groups of " + std::to_string(c.group_size);
  if (c.all_reduce == AllReduceKind::hybrid)
    text += ", ring from " + format_bytes(static_cast<double>(c.hybrid_threshold_bytes));
  text += ", " + name_of(c.wire) + " wire";
  text += c.bucket_bytes() > 0 ? ", fused to " + format_bytes(static_cast<double>(c.bucket_bytes())) : ", unfused";
  if (c.first_bucket_bytes() >= 0) text += ", first " + format_bytes(static_cast<double>(c.first_bucket_bytes()));
  if (c.accumulation > 1) text += ", every " + std::to_string(c.accumulation) + " micro-steps";
  return text + (c.overlap ? ", overlapped" : ", after back-propagation");
}

std::string learners_text(const Scenario& s) {
  const LearnersSpec& l = s.learners;
  std::string text = s.algorithm == Algorithm::sma ? "SMA, " : "EA-SGD, ";
  text += l.auto_tune ? "learners per GPU by the auto-tuner" : std::to_string(l.per_gpu) + " per GPU";
  if (l.tau == 0) text += ", never synchronised";
  if (l.tau == 1) text += ", synchronised in every iteration";
  if (l.tau > 1) text += ", synchronised every " + std::to_string(l.tau) + " iterations";
  text += l.round_robin ? ", round-robin" : ", first come first served";
  text += ", " + name_of(s.communication.all_reduce) + " all-reduce, " + name_of(s.communication.wire) + " wire";
  return text + (l.overlap ? ", overlapped" : ", not overlapped");
}

std::string parameter_server_text(const Scenario& s) {
  const ParameterServerSpec& ps = *s.parameter_server;
  std::string text = "S-SGD, ";
  if (ps.scheme == ServerScheme::server) text += "parameter server";
  if (ps.scheme == ServerScheme::factors) text += "sufficient factors and parameter server";
  if (ps.scheme == ServerScheme::best) text += "the better of parameter server and sufficient factors";
  if (ps.scheme == ServerScheme::adam) text += "factors pushed and matrices pulled (Adam), and parameter server";
  if (ps.scheme == ServerScheme::one_bit) text += "1-bit gradients";
  text += ", " + (ps.servers == 0 ? "a server on every node" : std::to_string(ps.servers) + " servers");
  if (ps.separate) text += " of their own";
  text += ps.shards_tensors ? ", a tensor per shard" : ", pairs of " + format_bytes(static_cast<double>(ps.pair_bytes));
  text += ", " + name_of(s.communication.wire) + " wire";
  return text + (s.communication.overlap ? ", wait-free" : ", after back-propagation");
}

std::string workers_text(const Scenario& s) {
  const WorkersSpec& w = *s.workers;
  std::string text = "synchronous SGD with backup workers";
  if (s.algorithm == Algorithm::async_sgd) text = "asynchronous SGD";
  if (s.algorithm == Algorithm::async_easgd)
    text = "asynchronous EASGD, alpha " + formatted("%g", w.elastic_rate) + ", tau " + std::to_string(w.period);
  if (w.timeout_s > 0) text += ", time-out " + duration_text(w.timeout_s);
  return text + ", " + std::to_string(w.servers) + (w.separate ? " separate" : " co-located") + " servers, " +
         name_of(s.communication.wire) + " wire";
}

// "tensor 8 with sequence x pipeline 16 (interleaved, 6 chunks) x data, zero1, recompute selective"
std::string parallel_text(const ParallelSpec& p) {
  std::string text;
  const auto add = [&](const char* name, int size, const std::string& more) {
    if (size > 1) text += name + (" " + std::to_string(size)) + more + " x ";
  };
  const bool is_interleaved = p.schedule == PipelineSchedule::interleaved;
  add("tensor", p.tensor, p.sequence ? " with sequence" : "");
  add("context", p.context, "");
  add("pipeline", p.pipeline,
      " (" + name_of(p.schedule) + (is_interleaved ? ", " + std::to_string(p.virtual_stages) + " chunks)" : ")"));
  text += "data";
  if (p.expert > 1) text += " with experts over " + std::to_string(p.expert);
  if (p.folds_experts()) text += ", whole on tensor ranks";
  if (p.sharding != ShardingStage::none) text += ", " + name_of(p.sharding);
  if (p.sharding_group > 0) text += " in groups of " + std::to_string(p.sharding_group);
  if (p.waits_for_shards()) text += " matrix by matrix";
  if (p.recompute != Recomputation::none) text += ", recompute " + name_of(p.recompute);
  return text;
}

std::string algorithm_text(const Scenario& s) {
  if (s.parallel) return parallel_text(*s.parallel) + ", " + communication_text(s.communication);
  if (s.workers) return workers_text(s);
  if (s.algorithm == Algorithm::parameter_server) return parameter_server_text(s);
  if (const std::string text = exchange_text(s); !text.empty()) return text;
  return s.trains_learners() ? learners_text(s) : "S-SGD, " + communication_text(s.communication);
}

std::string kinds_text(const std::vector<Assumption>& assumptions) {
  std::map<std::string, int> count;
  for (const Assumption& a : assumptions) ++count[a.kind];
  std::string text;
  for (const char* kind : {"measured", "published", "fitted", "assumed"})
    if (count[kind] > 0) text += (text.empty() ? "" : ", ") + std::to_string(count[kind]) + " " + kind;
  return text;
}

// The name of a sample: image or sequence.
std::string samples_name(const Scenario& s) {
  return s.model.tokens > 0 ? "sequences" : "images";
}

std::string iterations_text(const ConvergenceSpec& c) {
  if (c.profile) return " in iterations by the profile \"" + c.profile->name + "\", on ";
  if (!c.iterations_by_workers.empty()) return " in iterations by the number of workers, on ";
  return " in " + formatted("%g", c.epochs) + " epochs of ";
}

std::string header(const Scenario& s) {
  std::string text =
      (s.variant.empty() ? s.name : s.name + ", " + s.variant) + ": " + s.model.title + " on " + s.cluster.name + "\n";
  text += "  " + s.cluster.gpu.name + ", " + name_of(s.compute.precision) + ", " + algorithm_text(s) + "\n";
  if (s.convergence)
    text += "  to " + s.convergence->target + iterations_text(*s.convergence) +
            with_thousands(s.convergence->train_samples) + " " + samples_name(s) + "\n";
  return text + "\n";
}

std::vector<std::string> row_cells(const ReportPoint& row) {
  const PointResult& p = row.point;
  std::vector<std::string> cells{std::to_string(p.gpus),
                                 std::to_string(p.batch_per_gpu),
                                 with_thousands(static_cast<double>(row.global_batch)),
                                 iteration_time_text(p.mean_iteration_s()),
                                 iteration_time_text(p.compute_s),
                                 iteration_time_text(p.exposed_communication_s),
                                 rate_text(p.samples_per_s()),
                                 formatted("%.1f %%", 100 * row.scaling_efficiency)};
  if (row.has_accuracy)
    cells.insert(cells.end(), {duration_text(row.accuracy.seconds), duration_text(row.accuracy.low_s),
                               duration_text(row.accuracy.high_s)});
  return cells;
}

std::string memory_text(const Report& report, const Scenario& scenario) {
  std::vector<std::pair<int, GpuMemory>> points;
  for (const ReportPoint& row : report.points)
    if (row.variant == scenario.variant) points.emplace_back(row.point.gpus, row.memory);
  return memory_line(points);
}

// Writes "8 GPUs: 98,304 tokens/s, 412.9 TFLOP/s a GPU (41.7 % MFU)" for networks of sequences.
std::string tokens_text(const Report& report, const Scenario& scenario) {
  std::string text;
  for (const ReportPoint& row : report.points) {
    if (row.variant != scenario.variant || row.tokens_per_s == 0) continue;
    text += (text.empty() ? "" : "; ") + gpus_text(row.point.gpus) + ": " + rate_text(row.tokens_per_s) +
            " tokens/s, " + formatted("%.1f", row.model_flops_per_gpu * 1e-12) + " TFLOP/s a GPU";
    if (row.peak_flops == 0) continue;
    text += " (" + formatted("%.1f", 100 * row.mfu()) + " % MFU";
    if (row.recomputed_share > 0) text += ", " + formatted("%.1f", 100 * row.hfu()) + " % HFU";
    text += ")";
  }
  return text.empty() ? "" : text + ".\n";
}

std::string points_text(const Report& report, const Scenario& scenario) {
  TextTable table;
  std::vector<std::string> names{"GPUs",
                                 scenario.parallel ? "micro-batch" : "batch/GPU",
                                 "global batch",
                                 "iteration",
                                 "compute",
                                 "exposed",
                                 samples_name(scenario) + "/s",
                                 "efficiency"};
  if (scenario.convergence) names.insert(names.end(), {"time to accuracy", "low", "high"});
  table.add(names);
  for (const ReportPoint& row : report.points)
    if (row.variant == scenario.variant) table.add(row_cells(row));
  std::string text = table.text() + tokens_text(report, scenario) + memory_text(report, scenario) + "\n";
  for (const ReportPoint& row : report.points)
    if (row.variant == scenario.variant)
      for (const std::string& note : row.point.notes) text += note + "\n";
  return text;
}

const ReportPoint* point_at(const Report& report, const Scenario& scenario, int gpus) {
  for (const ReportPoint& row : report.points)
    if (row.variant == scenario.variant && row.point.gpus == gpus) return &row;
  return nullptr;
}

// Compares variants: throughput at every number of GPUs, and their results at the largest number that all have.
std::string variants_text(const Report& report) {
  const std::vector<Scenario>& variants = report.loaded.variants;
  if (variants.size() < 2) return "";
  std::set<int> counts;
  for (const ReportPoint& row : report.points) counts.insert(row.point.gpus);
  int common = 0;
  double most = 0;
  bool is_timed = false;
  for (int gpus : counts)
    if (std::all_of(variants.begin(), variants.end(), [&](const Scenario& v) { return point_at(report, v, gpus); }))
      common = gpus;
  for (const Scenario& variant : variants) {
    const ReportPoint* row = point_at(report, variant, common);
    most = std::max(most, row ? row->point.samples_per_s() : 0);
    is_timed = is_timed || (row && row->has_accuracy);
  }
  std::vector<std::string> names{samples_name(variants.front()) + "/s"};
  for (int gpus : counts) names.push_back(gpus_text(gpus));
  if (common > 0) names.push_back("of the fastest at " + std::to_string(common));
  if (is_timed) names.emplace_back("time to accuracy");
  TextTable table(true);
  table.add(names);
  for (const Scenario& variant : variants) {
    std::vector<std::string> cells{variant.variant};
    for (int gpus : counts) {
      const ReportPoint* row = point_at(report, variant, gpus);
      cells.push_back(row ? rate_text(row->point.samples_per_s()) : "");
    }
    const ReportPoint* row = point_at(report, variant, common);
    if (row) cells.push_back(formatted("%.1f %%", 100 * row->point.samples_per_s() / most));
    if (is_timed) cells.push_back(row->has_accuracy ? duration_text(row->accuracy.seconds) : "");
    table.add(cells);
  }
  return "Variants compared:\n" + table.text() + "\n";
}

// "0-7, 12" for nodes 0 to 7 and 12.
std::string nodes_text(std::vector<int> nodes) {
  std::sort(nodes.begin(), nodes.end());
  std::string text;
  for (std::size_t first = 0, last = 0; first < nodes.size(); first = last + 1) {
    last = first;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(nodes[first]);
    if (last > first) text += "-" + std::to_string(nodes[last]);
  }
  return text;
}

std::string shared_text(const Report& report) {
  if (report.shared.empty()) return "";
  const SharedCluster& shared = report.shared.front();
  TextTable table(true);
  table.add({"job", "GPUs", "nodes", "alone", "together", "low", "high", "slower by",
             samples_name(report.loaded.variants.front()) + "/s"});
  for (const SharedJob& job : jobs_of(report.shared))
    table.add({job.name, std::to_string(job.gpus), nodes_text(job.nodes), iteration_time_text(job.alone_s),
               iteration_time_text(job.together_s), iteration_time_text(job.together_low_s),
               iteration_time_text(job.together_high_s),
               formatted("%.1f %%", std::max(0.0, 100 * (job.slowdown() - 1))), rate_text(job.samples_per_s())});
  std::string text = "Together on the cluster";
  if (shared.background_flows > 0)
    text += ", with " + std::to_string(shared.background_flows) +
            (shared.background_flows == 1 ? " background flow" : " background flows");
  text += " (iteration times; the tables above have each job alone):\n" + table.text();
  if (shared.replays > 1)
    text += "Median, least and most of " + std::to_string(shared.replays) + " replays with random starts.\n";
  return text + "\n";
}

std::string value_text(PublishedMetric metric, double value, const std::string& samples) {
  switch (metric) {
    case PublishedMetric::scaling_efficiency:
      return formatted("%.1f %%", 100 * value);
    case PublishedMetric::throughput_gain:
      return formatted("%+.1f %%", 100 * value);
    case PublishedMetric::samples_per_s:
      return rate_text(value) + " " + samples + "/s";
    case PublishedMetric::iteration:
      return iteration_time_text(value);
    case PublishedMetric::time_to_accuracy:
      break;
  }
  return duration_text(value);
}

// Errors of efficiencies and gains are in percentage points, all others in per cent.
std::string error_text(const Comparison& c) {
  if (c.published.metric == PublishedMetric::scaling_efficiency ||
      c.published.metric == PublishedMetric::throughput_gain)
    return formatted("%+.1f points", 100 * (c.predicted - c.published.value));
  return formatted("%+.1f %%", 100 * c.error());
}

std::string comparisons_text(const Report& report) {
  if (report.comparisons.empty()) return "";
  TextTable table;
  const std::string samples = samples_name(report.loaded.variants.front());
  table.add({"GPUs", "metric", "predicted", "published", "error", ""});
  for (const Comparison& c : report.comparisons) {
    const std::string metric = (c.variant.empty() ? "" : c.variant + ": ") + name_of(c.published.metric);
    table.add({std::to_string(c.published.gpus), metric, value_text(c.published.metric, c.predicted, samples),
               value_text(c.published.metric, c.published.value, samples), error_text(c),
               c.published.is_fitted ? "fitted" : ""});
  }
  return "Predicted against published:\n" + table.text() + "\n";
}

bool shows_bounds(const Report& report) {
  return std::any_of(report.points.begin(), report.points.end(),
                     [](const ReportPoint& row) { return row.has_accuracy; });
}

std::string interval_source(const std::vector<Scenario>& variants) {
  const bool is_calibrated = std::all_of(variants.begin(), variants.end(),
                                         [](const Scenario& one) { return one.uncertainty.calibration.has_value(); });
  return is_calibrated ? "calibrated on published results" : "by the uncertainty of the inputs";
}

}  // namespace

std::string table_text(const Report& report) {
  std::string text;
  for (const Scenario& scenario : report.loaded.variants) text += header(scenario) + points_text(report, scenario);
  text += report.shared.empty() ? variants_text(report) : shared_text(report);
  for (const std::string& note : report.loaded.notes) text += note + ".\n";
  text += comparisons_text(report);
  for (const std::string& line : imprecise_profiles(report.loaded.variants)) text += line + ".\n";
  double wall_s = 0;
  for (const ReportPoint& row : report.points) wall_s += row.point.wall_s;
  const Scenario& first = report.loaded.variants.front();
  text += "Fidelity " + name_of(first.fidelity) + ", " + std::to_string(first.iterations) +
          " iterations a point, simulated in " + formatted("%.2f s", wall_s) +
          ". Inputs: " + kinds_text(report.loaded.assumptions) + " (--json lists them with their sources).\n";
  if (shows_bounds(report)) text += "low and high: 80 % interval, " + interval_source(report.loaded.variants) + ".\n";
  return text;
}

}  // namespace lockstep::sim::report
