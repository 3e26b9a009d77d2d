// Collects facts that an experiment gives in addition to the predicted result: rates, batches, epochs.

#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr double kTheanoMpiImages = 5120;

// Returns 0 for the same experiment, 1 for the same machine, 2 for the same publication, else none.
std::optional<int> distance_between(const Record& record, const Record& other) {
  if (!other.group.empty() && other.group == record.group) return 0;
  if (!other.system.empty() && other.system == record.system) return 1;
  if (!other.source.empty() && other.source == record.source) return 2;
  return std::nullopt;
}

// Times that leave communication out, of several GPUs, are also rates of one GPU while the others are busy.
bool leaves_communication_out(const Record& record) {
  return record.measure.metric == Metric::seconds_per_5120_images ||
         record.measure.metric == Metric::images_per_s_nosync;
}

// Returns the samples/s of one GPU that follow from a result of any metric; 0: the result does not determine them.
double samples_per_s_per_gpu(const Record& record, const ModelEntry& model) {
  if (!record.value_si || *record.value_si <= 0 || record.gpus < 1) return 0;
  if (record.is_sequential) return 0;  // that time includes copies to a server
  if (record.gpus > 1 && !leaves_communication_out(record)) return 0;
  double value = *record.value_si;
  if (record.measure.counted == Counted::tokens) {
    if (model.tokens == 0) return 0;
    value /= model.tokens;
  }
  switch (record.measure.metric) {
    case Metric::images_per_s:
    case Metric::images_per_s_nosync:
      return value / record.gpus;
    case Metric::iteration_s:
      return record.batch() > 0 ? record.batch() / value : 0;
    case Metric::seconds_per_5120_images:
      return kTheanoMpiImages / value / record.gpus;
    case Metric::epoch_s:
      return model.train_samples > 0 ? model.train_samples / value / record.gpus : 0;
    default:
      return 0;
  }
}

// Returns epochs given by the same experiment (or its group "GROUP-ep"), else by the same machine at the same batch.
const Record* epochs_given(const Record& record, const std::vector<Record>& given) {
  const Record* best = nullptr;
  for (const Record& other : given) {
    if (!other.value || other.measure.metric != Metric::epochs_to_accuracy) continue;
    if (other.model.id != record.model.id) continue;
    if (!other.group.empty() && (other.group == record.group || other.group == record.group + "-ep")) return &other;
    const bool same_batch = other.global_batch == record.global_batch;
    if (!other.system.empty() && other.system == record.system && same_batch) best = &other;
  }
  return best;
}

}  // namespace

Record with_experiment(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue) {
  Record job = record;
  const ModelEntry* model = job.own_model ? &job.own_model->entry : catalogue.models.with_id(job.model.id);
  for (const Record& other : given) {
    const std::optional<int> distance = distance_between(record, other);
    const bool is_same_work = model != nullptr && other.model.id == model->id && other.gpu.id == job.gpu.id;
    if (other.id == record.id || !distance || !is_same_work || job.gpu.id.empty()) continue;
    std::optional<Precision> precision;
    if (other.precision) precision = layers_precision(*other.precision);
    job.measured.push_back({other.id, other.gpus, other.batch(), samples_per_s_per_gpu(other, *model), precision,
                            *distance, other.system != record.system});
  }
  if (const Record* epochs = epochs_given(record, given)) {
    job.epochs = *epochs->value;
    job.epochs_source = epochs->id;
  }
  return job;
}

}  // namespace lockstep::sim::validation
