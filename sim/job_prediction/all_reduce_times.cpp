#include "sim/job_prediction/all_reduce_times.hpp"

#include <algorithm>

#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_summary.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::job_prediction {
namespace {

const char* const kNcclChoice = "as NCCL chooses";

std::int64_t bytes_of(const std::string& text) {
  double bytes = 0;
  std::string quantity = text;
  // Accepts "100MB", as users of nccl-tests write it, in addition to the "100 MB" of files.
  const std::size_t unit = quantity.find_first_not_of("0123456789.");
  if (unit != std::string::npos && unit > 0 && quantity[unit] != ' ' && quantity[unit] != 'e')
    quantity.insert(unit, 1, ' ');
  const std::string wrong = parse_quantity_or_explain(quantity, Dimension::size, bytes);
  if (!wrong.empty()) throw InputError("--bytes " + text + ": " + wrong);
  if (bytes < kBytes.low || bytes > kBytes.high || bytes != static_cast<double>(static_cast<std::int64_t>(bytes)))
    throw InputError("--bytes " + text + ": out of range; allowed: whole bytes from 1 B to 1 TB");
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::int64_t> sizes_of(const AllReduceQuestion& question) {
  std::vector<std::int64_t> sizes;
  for (const std::string& text : question.sizes) sizes.push_back(bytes_of(text));
  return sizes;
}

// Returns none if the user did not name an all-reduce.
std::optional<AllReduceKind> kind_of(const AllReduceQuestion& question) {
  if (question.algorithm.empty()) return std::nullopt;
  const JobAlgorithm* const named = job_algorithm_named(question.algorithm);
  if (named != nullptr && named->all_reduce && !named->algorithm) return named->all_reduce;
  std::vector<std::string> names;
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (algorithm.all_reduce && !algorithm.algorithm && algorithm.needs_no_numbers) names.push_back(algorithm.id);
  throw InputError("--algorithm " + question.algorithm + ": no all-reduce of that name; allowed: " + joined(names));
}

// Returns the task of one all-reduce of `bytes` bytes on the job's GPUs. Throws InputError.
QuantityTask all_reduce_task(const Job& job, std::int64_t bytes, const Catalogue& catalogue) {
  const StackOptions options;
  QuantityTask task;
  StackModel m{job, catalogue, options, task};
  try {
    find_entries(m, {true, false});
    task.quantity = Quantity::all_reduce_s;
    task.bytes = static_cast<double>(bytes);
    task.target = {all_reduce_workload(m, job.gpus, {bytes})};
    task.interval_class = interval_class_of(m, task);
    task.constants.insert("bounds/" + task.interval_class.name());
  } catch (const Unmapped& unmapped) {
    throw InputError("simulate all-reduce: " + unmapped.why);
  } catch (const InputError& error) {
    throw InputError(std::string("simulate all-reduce: ") + error.what());
  }
  return task;
}

// Makes a prediction for each number of GPUs and size, on a machine given by names.
AllReduceTimes times_of_machine(const AllReduceQuestion& question, const Catalogue& catalogue, int jobs,
                                const WorkloadChange& change) {
  if (question.gpu.empty() || question.gpus.empty())
    throw InputError("simulate all-reduce: --gpu or --gpus is missing; allowed: both, or --cluster FILE");
  JobQuestion machine;
  machine.gpus = question.gpus;
  machine.job.gpu.stated = question.gpu;
  machine.job.network.stated = question.network;
  machine.job.link.stated = question.link;
  machine.job.gpus_per_node = question.gpus_per_node;
  const int joined_gpus = joined_gpus_of(machine, catalogue);
  check_whole_nodes(question.gpus, joined_gpus);
  Job job = machine.job;
  job.software.stated = "NCCL";
  job.all_reduce = kind_of(question);
  if (job.gpus_per_node == 0) job.gpus_per_node = joined_gpus;
  job.precision = RecordPrecision::fp32;
  resolve_names(job, catalogue);
  check_names(job, catalogue, false);
  join_nodes(job, question.gpus, catalogue);

  const std::vector<std::int64_t> sizes = sizes_of(question);
  std::vector<QuantityPrediction> predictions;
  AllReduceTimes times;
  for (int gpus : question.gpus)
    for (std::int64_t bytes : sizes) {
      Job at_gpus = job;
      at_gpus.gpus = gpus;
      at_gpus.gpus_per_node = std::min(gpus, joined_gpus);
      predictions.emplace_back();
      predictions.back().task = all_reduce_task(at_gpus, bytes, catalogue);
      if (change) change(predictions.back().task.target.front());
      times.rows.push_back({gpus, bytes});
    }
  std::vector<QuantityPrediction*> pointers;
  std::vector<const QuantityTask*> tasks;
  for (QuantityPrediction& p : predictions) {
    pointers.push_back(&p);
    tasks.push_back(&p.task);
  }
  predict_quantities(pointers, catalogue, {jobs, true});
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const QuantityPrediction& p = predictions[i];
    if (!p.is_mapped()) throw InputError("simulate all-reduce: " + p.task.unmapped);
    times.rows[i].seconds = p.predicted;
    times.rows[i].low_s = p.low;
    times.rows[i].high_s = p.high;
  }
  times.assumptions = merge_inputs(tasks).assumptions;
  job.gpus = machine.largest();
  job.gpus_per_node = std::min(job.gpus, joined_gpus);
  times.read = "Read: " + question.operation + " on " + machine_text(summary_of(machine.job, job, {}, catalogue)) +
               (question.algorithm.empty() ? kNcclChoice : question.algorithm) + ".\n";
  times.has_bounds = true;
  return times;
}

// Makes a scenario so that the cluster file is read and checked as `simulate` does it. Its model does not matter.
LoadedScenario scenario_with(const AllReduceQuestion& question, AllReduceKind kind) {
  const Json scenario{{"schema", "lockstep/scenario/1"},
                      {"name", "all-reduces"},
                      {"cluster", question.cluster},
                      {"model", "lenet"},
                      {"gpus", question.gpus.empty() ? Json::array({1}) : Json(question.gpus)},
                      {"batch_per_gpu", 1},
                      {"compute", {{"precision", "fp32"}}},
                      {"communication", {{"all_reduce", name_of(kind)}}}};
  return ScenarioTemplate::parse(scenario.dump(), "--cluster").with({});
}

AllReduceTimes times_of_cluster(const AllReduceQuestion& question, int jobs) {
  if (!question.gpu.empty() || !question.link.empty() || !question.network.empty() || question.gpus_per_node > 0)
    throw InputError("--cluster " + question.cluster +
                     ": describes the machine; allowed: without --gpu, --gpus-per-node, --link and --network");
  const std::optional<AllReduceKind> wanted = kind_of(question);
  LoadedScenario loaded = scenario_with(question, wanted.value_or(AllReduceKind::ring));
  std::string by = wanted ? name_of(*wanted) : "by a ring: NCCL's tables do not have this GPU";
  if (!wanted && nccl_generation(loaded.variants.front().cluster.gpu.name)) {
    loaded = scenario_with(question, AllReduceKind::nccl);
    by = kNcclChoice;
  }
  const Scenario& s = loaded.variants.front();
  const int nodes = s.cluster.nodes_used.empty() ? s.cluster.nodes : static_cast<int>(s.cluster.nodes_used.size());
  const std::vector<int> all{nodes * s.cluster.gpus_per_node};
  std::vector<Workload> runs;
  for (int gpus : question.gpus.empty() ? all : question.gpus)
    for (std::int64_t bytes : sizes_of(question)) {
      if (gpus < 2)
        throw InputError("--gpus " + std::to_string(gpus) + ": an all-reduce needs two; allowed: 2 or more");
      runs.emplace_back();
      runs.back().kind = Workload::Kind::all_reduce;
      runs.back().scenario = s;
      runs.back().gpus = gpus;
      runs.back().bytes = {bytes};
    }
  std::vector<const Workload*> pointers;
  for (const Workload& run : runs) pointers.push_back(&run);
  const std::vector<WorkloadTime> seconds = time_workloads(pointers, {jobs, false});
  AllReduceTimes times;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!seconds[i].failure.empty()) throw InputError("--cluster " + question.cluster + ": " + seconds[i].failure);
    const double at = seconds[i].seconds;
    times.rows.push_back({runs[i].gpus, runs[i].bytes.front(), at, at, at});
  }
  times.read = "Read: " + question.operation + " on " + s.cluster.name + " (" + question.cluster + "), " + by + ".\n";
  for (const Assumption& a : loaded.assumptions)
    if (a.pointer.rfind("/cluster", 0) == 0 || a.pointer.rfind("/communication", 0) == 0)
      times.assumptions.push_back(a);
  times.inputs = loaded.inputs;
  return times;
}

}  // namespace

AllReduceTimes all_reduce_times(const AllReduceQuestion& question, const Catalogue& catalogue, int jobs,
                                const WorkloadChange& change) {
  if (question.sizes.empty())
    throw InputError("simulate all-reduce: --bytes is missing; allowed: sizes such as 1MB,100MB");
  if (!question.cluster.empty()) return times_of_cluster(question, jobs);
  return times_of_machine(question, catalogue, jobs, change);
}

std::string all_reduce_text(const AllReduceTimes& times) {
  TextTable table;
  std::vector<std::string> head{"GPUs", "size", "time"};
  if (times.has_bounds) head.insert(head.end(), {"low", "high"});
  head.insert(head.end(), {"algbw", "busbw"});
  table.add(head);
  for (const AllReduceTime& row : times.rows) {
    std::vector<std::string> cells{std::to_string(row.gpus), format_bytes(static_cast<double>(row.bytes)),
                                   format_seconds(row.seconds)};
    if (times.has_bounds) cells.insert(cells.end(), {format_seconds(row.low_s), format_seconds(row.high_s)});
    cells.insert(cells.end(), {format_bandwidth(row.algorithm_bandwidth()), format_bandwidth(row.bus_bandwidth())});
    table.add(cells);
  }
  return times.read + "\n" + table.text() + "\n" +
         (times.has_bounds ? "low and high: 80 % prediction interval. "
                           : "No bounds: a cluster file does not say how sure its figures are. ") +
         std::to_string(times.assumptions.size()) +
         " inputs: see --json; busbw is 2(n-1)/n of algbw, as nccl-tests prints it.\n";
}

Json all_reduce_json(const AllReduceTimes& times) {
  Json rows = Json::array(), assumptions = Json::array();
  for (const AllReduceTime& row : times.rows)
    rows.push_back({{"gpus", row.gpus},
                    {"bytes", row.bytes},
                    {"seconds", row.seconds},
                    {"low_s", row.low_s},
                    {"high_s", row.high_s},
                    {"algorithm_bandwidth", row.algorithm_bandwidth()},
                    {"bus_bandwidth", row.bus_bandwidth()}});
  for (const Assumption& a : times.assumptions)
    assumptions.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
  return rounded({{"schema", "lockstep/all_reduce/1"},
                  {"rows", rows},
                  {"has_bounds", times.has_bounds},
                  {"assumptions", assumptions}});
}

}  // namespace lockstep::sim::job_prediction
