#pragma once
// Writes the outputs of `simulate`: the table, the result file "lockstep/result/1", CSV and traces.
#include <string>
#include <vector>

#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/point/point.hpp"
#include "sim/point/shared_cluster.hpp"
#include "sim/program/gpu_memory.hpp"

namespace lockstep::sim::report {

/// One row of the result: a prediction and the quantities derived from it.
struct ReportPoint {
  std::string variant;
  PointResult point;
  std::int64_t global_batch = 0;
  double scaling_efficiency = 0;  ///< samples/s per GPU relative to the baseline at the same batch per GPU
  bool has_accuracy = false;
  TimeToAccuracy accuracy{};
  GpuMemory memory{};
  double tokens_per_s = 0;         ///< if samples are sequences
  double model_flops_per_gpu = 0;  ///< FLOP/s of the model's arithmetic without recomputation
  double peak_flops = 0;           ///< to which utilisation is relative (sim/cost/utilisation.hpp)
  double mfu() const { return model_utilisation(model_flops_per_gpu, peak_flops); }
  double hfu() const { return hardware_utilisation(mfu(), recomputed_share); }
  double recomputed_share = 0;              ///< recomputed FLOP over the model's
  std::vector<std::string> extrapolations;  ///< where it exceeds a profile's range; included in the point's notes
};

/// A published result and its prediction, in SI units.
struct Comparison {
  std::string variant;
  PublishedSpec published;
  double predicted = 0;
  double error() const { return predicted / published.value - 1; }
};

struct [[nodiscard]] Report {
  LoadedScenario loaded;
  std::vector<ReportPoint> points;  ///< by variant, then GPU count
  std::vector<Comparison> comparisons;
  std::vector<SharedCluster> shared{};  ///< jobs at the same time; or background traffic, by number of GPUs
};

/// Returns the jobs of all predictions, in order.
std::vector<SharedJob> jobs_of(const std::vector<SharedCluster>& shared);

/// Predicts every number of GPUs of every variant, and missing baselines at each batch size. `trace`: for the largest
/// number of GPUs of the first variant.
Report predict(const LoadedScenario& loaded, int jobs, const TraceRequest& trace);

/// Throws InputError if a requested point of `file` does not fit into a GPU's memory, unless the scenario ignores
/// memory. A baseline that was not requested need not fit.
void check_memory(const LoadedScenario& loaded, const std::string& file);

std::string table_text(const Report& report);
/// The first keys of every result file: "schema", "provenance", and the "scenario" as it was read.
Json result_head(const std::string& schema, const LoadedScenario& loaded, const std::vector<std::string>& argv);
/// Writes the scenario's assumptions: [{"pointer", "value", "kind", "source"}].
Json assumptions_json(const LoadedScenario& loaded);
Json result_json(const Report& report, const std::vector<std::string>& argv);
std::string csv_text(const Report& report);
/// Writes the times of the layers on one GPU, a row each: layer, forward_s, backward_s, update_s, parameters,
/// gradient_bytes. They are for an iteration of `batch_per_gpu` samples, before jitter and without communication. The
/// update's time is divided among the layers in proportion to their parameters.
std::string layers_csv(const Scenario& scenario, int batch_per_gpu);
/// Returns the same rows as JSON objects.
Json layers_json(const Scenario& scenario, int batch_per_gpu);

}  // namespace lockstep::sim::report
