#include "sim/explain/predicted_times.hpp"

#include <optional>

#include "sim/explain/pair_copies.hpp"
#include "sim/explain/transfer.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/job_prediction/job_split.hpp"

namespace lockstep::sim::explain {
namespace {

AllReduceQuestion with_machine_of(AllReduceQuestion question, const FaultVariant* variant) {
  if (variant != nullptr && !variant->network.empty()) question.network = variant->network;
  if (variant != nullptr && !variant->link.empty()) question.link = variant->link;
  return question;
}

JobQuestion with_job_of(JobQuestion question, const FaultVariant* variant) {
  if (variant == nullptr) return question;
  if (!variant->network.empty()) {
    question.job.network = NetworkStated();
    question.job.network.stated = variant->network;
  }
  if (!variant->link.empty()) question.job.link.stated = variant->link;
  if (variant->change_job) variant->change_job(question.job);
  question.ignores_memory = true;
  return question;
}

// The catalogue, or a copy in which the variant has changed the GPU.
class FaultyCatalogue {
 public:
  FaultyCatalogue(const Catalogue& catalogue, const std::string& gpu, const FaultVariant* variant)
      : catalogue_(&catalogue) {
    if (variant == nullptr || !variant->change_gpu) return;
    own_ = catalogue;
    if (const GpuEntry* entry = read_gpu_name(catalogue.gpus, gpu).entry)
      own_->gpus.change(std::string(entry->id), variant->change_gpu);
  }
  const Catalogue& get() const { return own_ ? *own_ : *catalogue_; }

 private:
  const Catalogue* catalogue_;
  std::optional<Catalogue> own_;
};

}  // namespace

std::vector<Expected> predict_collective(const MeasuredCollective& collective, const PredictionSettings& settings,
                                         std::string* read) {
  if (collective.transfer) {
    if (read != nullptr) *read = transfer_text(collective);
    return predict_transfer(collective, settings.variant);
  }
  if (collective.pairs) {
    if (read != nullptr) *read = pairs_text(collective, settings.catalogue);
    return predict_pairs(collective, settings.catalogue, settings.variant);
  }
  AllReduceQuestion question = with_machine_of(collective.question, settings.variant);
  question.operation = collective.operation;
  for (const MeasuredCollective::Point& point : collective.points)
    question.sizes.push_back(std::to_string(point.bytes) + " B");
  const double share = collective.operation == "all-reduce" ? 1 : 0.5;
  const FaultVariant* variant = settings.variant;
  const WorkloadChange with_fault = [share, variant](Workload& workload) {
    workload.share *= share;
    if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
  };
  const FaultyCatalogue used(settings.catalogue, question.gpu, variant);
  const AllReduceTimes times = all_reduce_times(question, used.get(), settings.threads, with_fault);
  if (read != nullptr) *read = times.read;
  std::vector<Expected> expected;
  for (const AllReduceTime& row : times.rows) expected.push_back({row.seconds, row.low_s, row.high_s});
  return expected;
}

StepPrediction predict_step(const MeasuredStep& step, const PredictionSettings& settings) {
  const FaultVariant* variant = settings.variant;
  const JobQuestion question = with_job_of(step.question, variant);
  const FaultyCatalogue used(settings.catalogue, question.job.gpu.stated, variant);
  JobPrediction predicted = prepare_job(question, used.get());
  QuantityPrediction& rate = predicted.rows.front().samples_per_s;
  Workload& workload = rate.task.target.front();
  if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
  StepPrediction result;
  result.scenario = workload.scenario;
  result.samples = workload.samples() * workload.accumulation;
  result.tokens_per_gpu = result.samples * workload.scenario.model.tokens / workload.gpus;
  predict_quantities({&rate}, used.get(), {settings.threads, true});
  if (!rate.is_mapped()) throw InputError("calibrate check: " + rate.task.unmapped);
  const double factor = result.samples * (variant != nullptr ? variant->time_factor : 1);
  result.expected = {factor / rate.predicted, factor / rate.high, factor / rate.low};
  if (!step.traced.has_ranks()) return result;
  // Whatever makes all of an iteration longer keeps the host.
  const double of_job_s = result.samples / rate.predicted;
  result.parts = predict_parts(workload, of_job_s);
  part_of(result.parts, calib::StepPart::host) += result.expected.seconds - of_job_s;
  return result;
}

void add_expected_collective_times(std::vector<CollectiveTime>& collectives, const JobQuestion& question,
                                   const PredictionSettings& settings) {
  const int gpus = question.gpus.front(), per_node = question.job.gpus_per_node;
  const NamedMachine machine = machine_of(settings.catalogue, question.job.gpu.stated, question.job.link.stated,
                                          question.job.network.stated, per_node, gpus);
  for (CollectiveTime& one : collectives) {
    if (!is_checked_operation(one.operation) || one.bytes == 0) continue;
    if (one.ranks != gpus && machine.nodes > 1) continue;  // over which nodes its GPUs are spread is not known
    MeasuredCollective call;
    call.operation = one.operation;
    call.question.gpu = question.job.gpu.stated;
    call.question.link = question.job.link.stated;
    call.question.network = question.job.network.stated;
    call.question.gpus = {one.ranks};
    call.question.gpus_per_node = machine.gpus_per_node;
    call.points.push_back({one.bytes});
    try {
      const Expected time = predict_collective(call, settings).front();
      one.expected = Expected{one.calls * time.seconds, one.calls * time.low_s, one.calls * time.high_s};
    } catch (const InputError&) {  // a size or number of GPUs that is not predicted
    }
  }
}

void fix_split(JobQuestion& question, const Scenario& scenario) {
  if (!scenario.parallel) return;
  const Json split = parallel_format().write(*scenario.parallel);
  for (const SplitFieldName& field : split_fields())
    if (!field.option.empty() && split.contains(field.key) && !question.job.split.has(field.key))
      question.job.split.give(field.key, split.at(field.key), "split");
}

double step_seconds(const MeasuredStep& step, const StepPrediction& predicted) {
  if (step.seconds > 0) return step.seconds;
  if (step.sample_s > 0) return step.sample_s * predicted.samples;
  if (!(predicted.tokens_per_gpu > 0))
    throw InputError(step.file + ": logs tokens/s, and the model trains on no tokens; allowed: --step-time");
  return step.gpu_token_s * predicted.tokens_per_gpu;
}

}  // namespace lockstep::sim::explain
