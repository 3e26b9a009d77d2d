// Epochs to an accuracy: given, stated, or by a law of the global batch.
#include <algorithm>
#include <cmath>

#include "sim/records/mapping.hpp"
#include "sim/records/reference_points.hpp"
#include "sim/records/usual.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kUsualEpochs = 90;
constexpr double kMostBatch = 65536;  // of ImageNet in 90 epochs (Jia et al. 2018), and of MLPerf's ResNet-50
constexpr double kFewestOff = 0.03;   // of epochs at small batch, which a schedule fixes
constexpr double kCriticalOff = 0.3;  // of the critical batch

constexpr double kSamplesOfEpoch = 1e6;  // of networks whose training is not counted in epochs

const ReferencePoints* points_of(const Mapping& m) {
  return m.job.is_mlperf() ? reference_points_of(m.job.model.id) : nullptr;
}

}  // namespace

double train_samples(const Mapping& m) {
  if (m.model->train_samples == 0 && points_of(m) != nullptr) return kSamplesOfEpoch;
  if (m.model->train_samples == 0)
    throw Unmapped{"the samples of an epoch of " + m.job.model.stated + " are not known"};
  return m.model->train_samples;
}

namespace {

// Of the same experiment (or of its group's epochs, "GROUP-ep"), else of the same machine and batch.
const JobSpec* epochs_given(const Mapping& m) {
  const JobSpec* best = nullptr;
  for (const JobSpec& other : m.given) {
    if (!other.value || other.measure.metric != Metric::epochs_to_accuracy) continue;
    if (other.model.id != m.job.model.id) continue;
    if (!other.group.empty() && (other.group == m.job.group || other.group == m.job.group + "-ep")) return &other;
    const bool same_batch = other.global_batch == m.job.global_batch;
    if (!other.system.empty() && other.system == m.job.system && same_batch) best = &other;
  }
  return best;
}

std::int64_t global_batch_of(Mapping& m) {
  return m.job.global_batch > 0 ? m.job.global_batch : std::int64_t{batch_of(m)} * gpus_of(m);
}

// More epochs for batches beyond the one at which they were shown to suffice, by the law below; nobody has shown these,
// so that all of what it adds is open.
void extend_epochs(Mapping& m, std::int64_t batch, double most_batch, double critical) {
  if (static_cast<double>(batch) <= most_batch) return;
  const double factor = (1 + static_cast<double>(batch) / critical) / (1 + most_batch / critical);
  m.result.epochs *= factor;
  m.result.epochs_uncertainty = std::hypot(m.result.epochs_uncertainty, factor - 1);
  m.assume("epochs at this batch", m.result.epochs,
           "extrapolated: a global batch of " + std::to_string(batch) + " is beyond " +
               std::to_string(static_cast<int>(most_batch)) + ", the largest with published epochs");
}

void set_epochs_by_reference(Mapping& m, const ReferencePoints& points) {
  const std::int64_t batch = global_batch_of(m);
  m.result.epochs = points.samples_at(static_cast<double>(batch)) / kSamplesOfEpoch;
  m.result.epochs_uncertainty = points.off;
  m.result.assumptions.push_back(
      {"samples to the target, millions", m.result.epochs, "published", "MLCommons' reference convergence points"});
  extend_epochs(m, batch, points.most_batch(), points.critical_batch);
}

// E(B) = E_min (1 + B / B_crit), of ResNet-50, both fitted per round of MLPerf.
void set_epochs_by_law(Mapping& m) {
  if (m.model->id.rfind("resnet50", 0) != 0)
    throw Unmapped{"no law of epochs and batch for " + m.job.model.stated + ": MLPerf's is of ResNet-50"};
  const std::int64_t batch = global_batch_of(m);
  const std::string law = m.stack->id == "mlperf-1" ? "mlperf" : m.stack->id;
  const double fewest = m.constant({"epochs at small batch/" + law, "epochs at small batch"});
  const double critical = m.constant({"critical batch/" + law, "critical batch"});
  const double of_critical = std::min(static_cast<double>(batch), kMostBatch) / critical;
  m.result.epochs = fewest * (1 + of_critical);
  const double off_of_critical = std::max(kCriticalOff, m.result.deviation_of("critical batch"));
  m.result.epochs_uncertainty = std::hypot(std::max(kFewestOff, m.result.deviation_of("epochs at small batch")),
                                           off_of_critical * of_critical / (1 + of_critical));
  extend_epochs(m, batch, kMostBatch, critical);
}

}  // namespace

void set_epochs(Mapping& m) {
  const bool is_asked = is_of_epochs(m.metric());
  if (const JobSpec* given = is_asked ? nullptr : epochs_given(m)) {
    m.result.epochs = *given->value;
    m.result.uses_results = true;
    m.result.assumptions.push_back({"epochs", *given->value, "published", given->id});
    return;
  }
  if (m.job.epochs > 0 && !is_asked) {
    m.result.epochs = m.job.epochs;
    m.result.assumptions.push_back({"epochs", m.job.epochs, "published", "stated in the record"});
    return;
  }
  if (const ReferencePoints* points = points_of(m)) return set_epochs_by_reference(m, *points);
  if (m.job.is_mlperf()) return set_epochs_by_law(m);
  if (is_asked) throw Unmapped{"no law of epochs and batch for " + m.job.model.stated + " with this software"};
  m.result.epochs = kUsualEpochs;
  m.result.epochs_uncertainty = 0.05;
  m.assume("epochs", kUsualEpochs, "not stated; the usual schedule for ImageNet");
  extend_epochs(m, global_batch_of(m), kMostBatch, usual_of("critical batch").value);
}

}  // namespace records
}  // namespace lockstep::sim
