#pragma once
// Predicts quantities: times their workloads, and computes values and intervals.
#include <optional>
#include <string>
#include <vector>

#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/quantity_task.hpp"
#include "sim/quantity/workload_time.hpp"

namespace lockstep::sim::quantity {

/// A prediction with all data that it refers to.
struct [[nodiscard]] QuantityPrediction {
  QuantityTask task;
  double predicted = 0;
  double low = 0;  ///< low and high: 80 % prediction interval for results of a new source
  double high = 0;
  double off_below = 0;                      ///< log(predicted / low) from input uncertainty alone
  double off_above = 0;                      ///< log(high / predicted) from input uncertainty alone
  std::optional<PredictionMethod> method{};  ///< by which the target was timed; none: nothing was
  std::optional<GpuMemory> memory{};         ///< of an iteration, if it was counted before (task_memory.hpp)

  bool is_mapped() const { return task.unmapped.empty(); }
};

/// Times the workloads of all tasks, and sets predictions and intervals. If a task cannot be simulated, its prediction
/// keeps the reason.
void predict_quantities(const std::vector<QuantityPrediction*>& predictions, const Catalogue& catalogue,
                        const TimingOptions& timing);

/// Returns the half width of the interval of log(value) before calibration. `off` is off_below or off_above.
double half_width(const QuantityPrediction& prediction, double off);

/// Returns the catalogue's calibration of bounds for the narrowest class that has one. A measured rate makes
/// predictions more certain, so the calibration without a rate limits the bounds.
IntervalCalibration calibration_of(const QuantityTask& task, const Catalogue& catalogue);
/// Sets `low` and `high`, if the prediction's class is calibrated.
void set_interval(QuantityPrediction& prediction, const IntervalCalibration& calibration);

inline constexpr const char* kPredictionsSchema = "lockstep/predictions/1";
/// Says whether a job or a number of GPUs has a prediction.
enum class AnswerStatus { ok, does_not_fit, unmapped };

inline const Choices<AnswerStatus>& choices_of(AnswerStatus) {
  static const Choices<AnswerStatus> all{
      {AnswerStatus::ok, "ok"}, {AnswerStatus::does_not_fit, "does-not-fit"}, {AnswerStatus::unmapped, "unmapped"}};
  return all;
}

/// Makes an entry of a file of that schema: id, metric, unit, status ("ok", "does-not-fit", "unmapped"), predicted,
/// low, high, assumptions, gpus, nodes and memory. `method` is the requested fidelity, and `simulation` the method_json()
/// of the method that was used. A training also has batch_per_gpu (with a split, its micro-batch), global_batch (of an
/// update) and split (the keys of /parallel). An unmapped entry has the reason instead.
Json prediction_json(const std::string& id, const std::string& metric, const std::string& unit,
                     const QuantityPrediction& prediction);

}  // namespace lockstep::sim::quantity
