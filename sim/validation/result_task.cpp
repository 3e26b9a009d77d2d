#include "sim/validation/result_task.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr double kImagesOfTheanoMpi = 5120;

int baseline_gpus(ResultModel& m) {
  if (m.record.baseline_gpus > 0) return m.record.baseline_gpus;
  if (m.metric() == Metric::scaling_efficiency) m.assume("baseline", 1, "the efficiency's reference is not stated");
  return 1;
}

void set_time_of_samples(ResultModel& m) {
  set_target_iteration(m, m.task);
  if (m.metric() != Metric::seconds_per_5120_images && m.metric() != Metric::epoch_s) return set_training(m, m.task);
  m.task.quantity = Quantity::samples_time_s;
  if (m.metric() == Metric::seconds_per_5120_images) {
    m.task.samples = kImagesOfTheanoMpi;
    for (Workload& workload : m.task.target) workload.scenario.communication.fusion_threshold_bytes = 0;
    return;
  }
  const std::optional<double> longer = find_training_factor(m, m.task);
  m.task.samples = train_samples(m) * longer.value_or(1);
}

void set_relative(ResultModel& m, Quantity quantity) {
  set_target_iteration(m, m.task);
  const int gpus = baseline_gpus(m);
  set_baseline(m, m.task, quantity, gpus, m.record.is_strong_scaling);
}

// Adds the all-reduces that the same experiment gives for other sizes or numbers of GPUs.
void add_anchors(ResultModel& m) {
  if (m.record.group.empty()) return;
  for (const Record& other : m.given) {
    if (other.group != m.record.group || other.id == m.record.id) continue;
    if (!other.value_si || *other.value_si <= 0 || other.gpus < 2 || other.measure.metric != m.metric()) continue;
    MapOptions alone = m.map_options;
    alone.use_anchors = false;
    const QuantityTask mapped = task_of(other, m.given, m.catalogue, alone);
    if (!mapped.unmapped.empty() || mapped.quantity != m.task.quantity || mapped.target.empty()) continue;
    if (mapped.target.front().share != m.task.target.front().share) continue;
    m.task.anchors.push_back({mapped.target, mapped.baseline, *other.value_si, other.bytes, other.gpus});
    m.use(other);
  }
}

// Half of a ring all-reduce scatters sums, the other half gathers them. A pipelined chain passes on a whole buffer in
// n/(n-1) times half of a ring's time. Bus bandwidths are those of nccl-tests: S/t times (n-1)/n, or S/t.
void set_collective(ResultModel& m, int gpus) {
  if (m.record.measure.collective == Collective::all_reduce) return;
  const bool is_chain =
      m.record.measure.collective == Collective::broadcast || m.record.measure.collective == Collective::reduce;
  const double parts = is_chain ? double(gpus) / (gpus - 1) : 1;
  for (Alternatives* side : {&m.task.target, &m.task.baseline})
    for (Workload& run : *side) {
      run.share = 0.5 * parts;
      use_rings(run.scenario.communication);
    }
  if (m.task.quantity == Quantity::bus_bandwidth) m.task.per_si *= 0.5 * parts;
  m.assume("collective", is_chain ? "a pipelined chain" : "half of a ring all-reduce", "as NCCL does it");
}

void set_all_reduce_task(ResultModel& m, Quantity quantity) {
  const int gpus = gpus_of(m);
  m.task.quantity = quantity;
  if (quantity == Quantity::alpha_s || quantity == Quantity::beta_s_per_byte) {
    m.task.target = {all_reduce_workload(m, gpus, {kSmallBytes})};
    m.task.baseline = {all_reduce_workload(m, gpus, {kLargeBytes})};
  } else {
    if (m.job.bytes <= 0) throw Unmapped{"params_bytes: the size of the all-reduce is not stated"};
    m.task.target = {all_reduce_workload(m, gpus, {static_cast<std::int64_t>(m.job.bytes)})};
  }
  set_collective(m, gpus);
  if (m.map_options.use_anchors && m.map_options.use_rates) add_anchors(m);
}

// Sets the task for the part of an iteration's time that is not computation.
void set_exchange_task(ResultModel& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.task.quantity = Quantity::exchange_s;
  m.task.target = {iteration_workload(m, gpus, batch)};
  m.task.baseline = {iteration_workload(m, 1, batch)};
  for (Alternatives* tasks : {&m.task.target, &m.task.baseline})
    for (Workload& run : *tasks) {
      run.scenario.compute.jitter = JitterKind::none;
      run.scenario.compute.rates = m.task.target.front().scenario.compute.rates;
      run.scenario.communication.overlap = false;
    }
  m.task.factor = kImagesOfTheanoMpi / (double(gpus) * batch);
}

void set_versus_nccl_task(ResultModel& m) {
  set_target_iteration(m, m.task);
  m.task.quantity = Quantity::time_ratio;
  Job plain = m.job;
  plain.transport = Transport::nccl;
  plain.scheme.reset();
  plain.overlap.reset();
  plain.algorithm.reset();
  plain.tree_slices.reset();
  plain.is_sequential = false;
  plain.assumed.erase("algorithm");
  plain.all_reduce = AllReduceKind::ring;
  plain.fusion = m.stack->id != "jizhi";
  StackModel other{plain, m.catalogue, m.options, m.inputs, m.gpu, m.stack, m.model, m.precision, m.wire};
  m.task.baseline = {iteration_workload(other, gpus_of(m), m.task.target.front().batch_per_gpu)};
}

void set_memory_task(ResultModel& m) {
  const Workload workload = iteration_workload(m, gpus_of(m), batch_of(m));
  const MemoryCounter counter = m.record.memory_counter.value_or(m.stack->peak_memory);
  const double bytes = peak_memory_bytes(workload, counter);
  if (!m.record.memory_counter) m.assume("memory_counter", name_of(counter), "not stated; by software");
  m.task.quantity = Quantity::memory;
  m.task.estimate = {bytes, bytes, bytes};
}

void set_metric_task(ResultModel& m) {
  switch (m.metric()) {
    case Metric::images_per_s:
    case Metric::hardware_flops:
    case Metric::model_flops:
    case Metric::hfu:
    case Metric::mfu:
      return set_target_iteration(m, m.task);
    case Metric::iteration_s:
      set_target_iteration(m, m.task);
      m.task.quantity = Quantity::iteration_s;
      return;
    case Metric::speedup:
      return set_relative(m, Quantity::speedup);
    case Metric::scaling_efficiency:
      return set_relative(m, Quantity::efficiency);
    case Metric::iteration_time_increase:
      return set_relative(m, Quantity::iteration_increase);
    case Metric::communication_s:
      return set_exchange_task(m);
    case Metric::all_reduce_s:
      return set_all_reduce_task(m, Quantity::all_reduce_s);
    case Metric::bus_bandwidth:
      return set_all_reduce_task(m, Quantity::bus_bandwidth);
    case Metric::algorithm_bandwidth:
      return set_all_reduce_task(m, Quantity::algorithm_bandwidth);
    case Metric::alpha_s:
      return set_all_reduce_task(m, Quantity::alpha_s);
    case Metric::beta_s_per_byte:
      return set_all_reduce_task(m, Quantity::beta_s_per_byte);
    case Metric::speedup_vs_nccl:
    case Metric::speedup_vs_horovod:
      return set_versus_nccl_task(m);
    case Metric::peak_memory:
      return set_memory_task(m);
    case Metric::samples_to_accuracy:
      m.task.per_si *= train_samples(m);
      [[fallthrough]];
    case Metric::epochs_to_accuracy:
      m.task.quantity = Quantity::epochs;
      return set_epochs(m, m.task, true);
    case Metric::seconds_per_5120_images:
    case Metric::epoch_s:
    case Metric::training_s:
    case Metric::time_to_accuracy_s:
      return set_time_of_samples(m);
    case Metric::unknown:
    case Metric::images_per_s_nosync:
    case Metric::parameter_servers:
    case Metric::staleness:
    case Metric::arrival:
    case Metric::iterations_to_converge:
    case Metric::critical_batch:
    case Metric::best_group_size:
    case Metric::required_bandwidth:
    case Metric::bandwidth_for_linear:
    case Metric::throughput_gain_tau:
    case Metric::node_traffic:
      break;  // not predicted, or set by set_workers_task() and set_choice_task()
  }
  throw Unmapped{"metric " + in_quotes(m.record.metric) + " is not predicted from records"};
}

void set_task(ResultModel& m) {
  const Record& record = m.record;
  if (!record.measure.why_not.empty()) throw Unmapped{record.measure.why_not};
  const MetricGroup group = group_of(m.metric());
  const bool of_workers = group == MetricGroup::workers;
  if (!of_workers && !record.other_algorithm.empty())
    throw Unmapped{"algorithm " + in_quotes(record.other_algorithm) + " is not mapped to a simulated one"};
  if (!of_workers && record.algorithm && (has_workers(*record.algorithm) || *record.algorithm == Algorithm::local_sgd))
    throw Unmapped{"algorithm " + in_quotes(name_of(*record.algorithm)) + " is not mapped to a simulated one"};
  const bool is_of_hardware = !of_workers || m.metric() == Metric::staleness;
  find_entries(m, {is_of_hardware && group != MetricGroup::epochs, is_of_hardware && group != MetricGroup::collective});
  m.task.bytes = record.bytes;
  if (of_workers) return set_workers_task(m);
  if (group == MetricGroup::choices) return set_choice_task(m);
  set_metric_task(m);
  set_unit(m);
  m.task.is_whole_training = record.measure.tokens > 0 && m.model->is_of_sequences();
  m.task.interval_class = interval_class_of(m, m.task);
  m.task.constants.insert("bounds/" + m.task.interval_class.name());
}

}  // namespace

void ResultModel::use(const Record& other) {
  task.uses_results = true;
  task.assumptions.push_back({other.metric, *other.value, "published", other.id});
}

QuantityTask task_of(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue,
                     const MapOptions& options) {
  QuantityTask task;
  task.unmapped = record.refused.empty() ? record.not_predicted : record.refused;
  if (!task.unmapped.empty()) return task;
  Record job = with_experiment(record, given, catalogue);
  if (job.measure.metric == Metric::communication_s) job.fusion = false;
  ResultModel model{{job, catalogue, options, task}, record, given, options, task};
  try {
    set_task(model);
  } catch (const Unmapped& unmapped) {
    task = {};
    task.unmapped = unmapped.why;
  } catch (const InputError& refused) {  // the model refused this record only
    task = {};
    task.unmapped = refused.what();
  }
  return task;
}

std::vector<Record> given_results(const std::vector<Record>& records, const Catalogue& catalogue) {
  std::vector<Record> results;
  for (const Record& record : records)
    if (record.role == Role::input) results.push_back(resolve_record(record, catalogue));
  std::sort(results.begin(), results.end(), [](const Record& a, const Record& b) { return a.id < b.id; });
  return results;
}

}  // namespace lockstep::sim::validation
