// Sets up trainings: iterations, baselines, evaluations, and epochs (as given, or by a law of the global batch).
#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/convergence/law.hpp"
#include "sim/convergence/reference_points.hpp"
#include "sim/quantity/quantity_task.hpp"
#include "sim/stack/priors.hpp"

namespace lockstep::sim::quantity {
namespace {

constexpr double kUsualEpochs = 90;
constexpr double kMostBatch = 65536;  // in ImageNet's 90 epochs (Jia et al. 2018) and in MLPerf's ResNet-50
constexpr double kFewestOff = 0.03;   // relative error of the epochs at small batch, which a schedule determines
constexpr double kCriticalOff = 0.3;  // relative error of the critical batch

bool is_of_first_rounds(const StackModel& m) {
  return m.stack->id != "mlperf" && m.stack->id != "mlperf-1";
}

constexpr double kSamplesOfEpoch = 1e6;  // for networks whose training is not counted in epochs

// Returns the law of MLPerf's reference runs. Null for MLPerf's first rounds: their rules differ, so they use the
// fitted law of epochs.
const ConvergenceProfile* reference_of(const StackModel& m) {
  if (!m.job.is_mlperf() || is_of_first_rounds(m)) return nullptr;
  return m.catalogue.reference_points->profile_of_model(m.job.model.id);
}

}  // namespace

double train_samples(const StackModel& m) {
  if (m.model->train_samples == 0 && reference_of(m) != nullptr) return kSamplesOfEpoch;
  if (m.model->train_samples == 0)
    throw Unmapped{"the samples of an epoch of " + m.job.model.stated + " are not known"};
  return m.model->train_samples;
}

namespace {

std::int64_t global_batch_of(StackModel& m, const QuantityTask& task) {
  if (m.job.global_batch > 0) return m.job.global_batch;
  const int micro_steps = task.target.empty() ? 1 : std::max(1, task.target.front().accumulation);
  return std::int64_t{batch_of(m)} * gpus_of(m) * micro_steps;
}

// Batches above all those with published epochs need more epochs, by the law below. No publication confirms this, so
// the whole increase counts as uncertain.
void extend_epochs(StackModel& m, QuantityTask& task, std::int64_t batch, double most_batch, double critical) {
  if (static_cast<double>(batch) <= most_batch) return;
  const double factor =
      samples_over_fewest(static_cast<double>(batch), critical) / samples_over_fewest(most_batch, critical);
  task.epochs *= factor;
  task.epochs_uncertainty = std::hypot(task.epochs_uncertainty, factor - 1);
  m.assume("epochs at this batch", task.epochs,
           "extrapolated: a global batch of " + std::to_string(batch) + " is beyond " +
               std::to_string(static_cast<int>(most_batch)) + ", the largest with published epochs");
}

// Interpolates between the reference points. Beyond the largest batch there are none, so the whole increase of the law
// counts as uncertain.
void set_epochs_by_reference(StackModel& m, QuantityTask& task, const ConvergenceProfile& profile) {
  const double batch = static_cast<double>(global_batch_of(m, task));
  const double smallest = profile.fits.front().from_x, largest = profile.fits.front().to_x;
  const ReferenceSamples samples = samples_to_target(profile, batch);
  task.epochs = samples.middle / train_samples(m);
  task.epochs_uncertainty = 0.5 * std::log(samples.high / samples.low) / normal_quantile(0.5 + 0.5 * profile.coverage);
  const bool is_beyond = batch > largest;
  m.inputs.assumptions.push_back(
      {kMlperfSamples, samples.middle * 1e-6, "fitted",
       std::string("by a law of MLCommons' reference convergence points of all rounds") +
           (is_beyond          ? ", extrapolated: the largest global batch of these is " + short_number(largest)
            : batch < smallest ? ", taken from the smallest global batch of these, " + short_number(smallest) +
                                     ", because none is smaller"
                               : "")});
  if (!is_beyond) return;
  task.epochs_uncertainty =
      std::hypot(task.epochs_uncertainty, samples.middle / samples_to_target(profile, largest).middle - 1);
}

// E(B) = E_min (1 + B / B_crit), for ResNet-50. Both constants are fitted per round of MLPerf.
void set_epochs_by_law(StackModel& m, QuantityTask& task) {
  if (m.model->id.rfind("resnet50", 0) != 0)
    throw Unmapped{"no law of epochs and batch for " + m.job.model.stated +
                   ": no reference runs of MLPerf are known for it"};
  const std::int64_t batch = global_batch_of(m, task);
  const std::string& law = m.stack->id;
  const double fewest = m.constant({"epochs at small batch/" + law, "epochs at small batch"});
  const double critical = m.constant({"critical batch/" + law, "critical batch"});
  const double within = std::min(static_cast<double>(batch), kMostBatch), of_critical = within / critical;
  task.epochs = fewest * samples_over_fewest(within, critical);
  const double off_of_critical = std::max(kCriticalOff, m.inputs.deviation_of("critical batch"));
  task.epochs_uncertainty = std::hypot(std::max(kFewestOff, m.inputs.deviation_of("epochs at small batch")),
                                       off_of_critical * of_critical / (1 + of_critical));
  extend_epochs(m, task, batch, kMostBatch, critical);
}

}  // namespace

void set_epochs(StackModel& m, QuantityTask& task, bool is_wanted) {
  if (m.job.epochs > 0 && !is_wanted) {
    task.epochs = m.job.epochs;
    m.inputs.assumptions.push_back({"epochs", m.job.epochs, "published",
                                    m.job.epochs_source.empty() ? "stated in the record" : m.job.epochs_source});
    return;
  }
  if (const ConvergenceProfile* profile = reference_of(m)) return set_epochs_by_reference(m, task, *profile);
  if (m.job.is_mlperf()) return set_epochs_by_law(m, task);
  if (is_wanted) throw Unmapped{"no law of epochs and batch for " + m.job.model.stated + " with this software"};
  task.epochs = kUsualEpochs;
  task.epochs_uncertainty = 0.05;
  m.assume_default("epochs", kUsualEpochs, "the usual schedule for ImageNet");
  extend_epochs(m, task, global_batch_of(m, task), kMostBatch, prior_of("critical batch").value);
}

void set_target_iteration(StackModel& m, QuantityTask& task) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  task.target = {iteration_workload(m, gpus, batch)};
}

void set_baseline(StackModel& m, QuantityTask& task, Quantity quantity, int gpus, bool is_strong_scaling) {
  task.quantity = quantity;
  const std::int64_t batch = task.target.front().batch_per_gpu;
  const std::int64_t of_baseline = is_strong_scaling ? std::max<std::int64_t>(1, batch * gpus_of(m) / gpus) : batch;
  task.baseline = {iteration_workload(m, gpus, static_cast<int>(std::min<std::int64_t>(of_baseline, 1 << 20)))};
}

std::optional<double> find_training_factor(StackModel& m, const QuantityTask& task) {
  if (m.stack->trains_as_measured || task.has_rates() || m.job.decodes_on_host || m.model->is_of_sequences())
    return std::nullopt;
  return m.constant({kTrainingOverBenchmark + std::string("/") + m.gpu->generation, kTrainingOverBenchmark});
}

namespace {

// Every training evaluates between iterations. Evaluations count as additional samples, for every metric. MLPerf's runs
// start warm and evaluate only every few epochs.
double samples_with_evaluations(StackModel& m) {
  const std::string kind = m.job.is_mlperf() ? "/mlperf" : "/others";
  return 1 + m.constant({kEvaluationShare + kind, kEvaluationShare});
}

}  // namespace

void set_training(StackModel& m, QuantityTask& task) {
  task.quantity = Quantity::samples_time_s;
  const std::optional<double> longer = find_training_factor(m, task);
  set_epochs(m, task, false);
  for (Workload& workload : task.target) workload.scenario.uncertainty.epochs = task.epochs_uncertainty;
  task.samples = train_samples(m) * (longer ? *longer : samples_with_evaluations(m));
}

}  // namespace lockstep::sim::quantity
