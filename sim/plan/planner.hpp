#pragma once
// Predicts a plan. First it predicts all points coarsely. Then it refines the frontier, and points that may belong to
// it, until frontier and answer contain only refined points. Finally it adds the report on the recommended point.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/evaluation.hpp"
#include "sim/plan/rows.hpp"

namespace lockstep::sim::plan {

struct ScalingRow {
  Outcome outcome;
  double scaling_efficiency = 0;
};

struct SensitivityRow {
  std::string what;
  double time_s = 0;
  double cost = 0;
  double time_change = 0;  ///< relative to the planned point's time
  double cost_change = 0;
  std::string why;                         ///< why it could not be simulated
  std::optional<std::size_t> recommended;  ///< row that would then be recommended; none: no point meets the objective
  double then_time_s = 0;                  ///< time of that row after the change
  double then_cost = 0;
};

struct Breakdown {
  std::size_t row = 0;
  double forward_s = 0, backward_s = 0, update_s = 0;
  double bubble_s = 0;                 ///< of the pipeline of a split
  double exposed_communication_s = 0;  ///< without the bubble and without waiting for slower GPUs
  double idle_s = 0;                   ///< waiting for input and for slower GPUs
  std::vector<LayerGroup> layer_groups;
};

/// The results of a plan. It refers to the plan, which must outlive it.
struct [[nodiscard]] PlanResult {
  const PlanSpec* plan = nullptr;
  PlanRows rows;                      ///< in the order of PlanSpec::points
  std::vector<std::size_t> frontier;  ///< rows, in ascending order of time
  std::optional<std::size_t> recommended;
  std::optional<std::size_t> runner_up;
  std::optional<std::size_t> closest;  ///< set if no point meets the objective
  std::vector<ScalingRow> scaling;
  std::optional<Breakdown> breakdown;
  std::optional<ClockedTime> clocked;  ///< for the focus, if the plan has failures
  std::vector<SensitivityRow> sensitivity;
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  double analytic_error = 0;  ///< largest difference between the coarse and the refined prediction of a point
  double typical_error = 0;   ///< median of these differences
  std::size_t refined_points = 0;
  bool is_final = true;  ///< false: some points still wait (status "waiting") or are not refined yet

  /// Returns the recommended point. If no point meets the objective, returns the closest one.
  std::optional<std::size_t> focus() const { return recommended ? recommended : closest; }
};

/// Most machines that are refined and compared: the best ones. A plan with an axis of machines compares all.
constexpr std::size_t kMachinesCompared = 12;

/// Shows intermediate results after each finished point at which is_due() is true.
struct PlanWatch {
  std::function<bool()> is_due;
  std::function<void(const PlanResult&)> show;
};

PlanResult work_out(const PlanSpec& plan, Evaluation& evaluation, const PlanWatch& watch = {});

}  // namespace lockstep::sim::plan
