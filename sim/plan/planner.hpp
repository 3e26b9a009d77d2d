#pragma once
// Works a plan out: all points coarsely, the frontier and what may belong to it refined until the frontier and the
// answer are refined points only, then what the report tells around the recommended point.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/evaluation.hpp"
#include "sim/plan/money.hpp"

namespace lockstep::sim::plan {

/// A point with the best prediction that there is of it.
struct PlanRow {
  const PlanPoint* point = nullptr;
  Outcome outcome;
  Fidelity requested = Fidelity::analytic;
  Money money;
  bool is_refined = false;
  double scaling_efficiency = 0;  ///< 0: unknown
  bool is_on_frontier = false;
  bool meets_objective = false;

  /// What the plan sets, and the split that was found.
  Json setting() const;
  /// One text per machine: the value of the plan's axis of machines, else a GPU in its servers and network.
  std::string machine() const { return point->machine.empty() ? outcome.machine() : point->machine; }
};

struct ScalingRow {
  Outcome outcome;
  double scaling_efficiency = 0;
};

struct SensitivityRow {
  std::string what;
  double time_s = 0;
  double cost = 0;
  double time_change = 0;  ///< relative to the point as planned
  double cost_change = 0;
  std::string why;                         ///< where it could not be simulated
  std::optional<std::size_t> recommended;  ///< row that the plan would recommend then; none: none meets the objective
  double then_time_s = 0;                  ///< of that one, then
  double then_cost = 0;
};

struct Breakdown {
  std::size_t row = 0;
  double forward_s = 0, backward_s = 0, update_s = 0;
  double exposed_communication_s = 0;  ///< without waiting for slower GPUs
  double idle_s = 0;                   ///< waiting for input and for slower GPUs
  std::vector<LayerGroup> layer_groups;
};

/// Refers to the plan, which must outlive it.
struct [[nodiscard]] PlanResult {
  const PlanSpec* plan = nullptr;
  std::vector<PlanRow> rows;          ///< as PlanSpec::points
  std::vector<std::size_t> frontier;  ///< rows, ascending time
  std::optional<std::size_t> recommended;
  std::optional<std::size_t> runner_up;
  std::optional<std::size_t> closest;  ///< where no point meets the objective
  std::vector<ScalingRow> scaling;
  std::optional<Breakdown> breakdown;
  std::optional<ClockedTime> clocked;  ///< of the focus, where the plan has failures
  std::vector<SensitivityRow> sensitivity;
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  double analytic_error = 0;  ///< the largest seen between the coarse and the refined prediction of a point
  double typical_error = 0;   ///< the median
  std::size_t refined_points = 0;
  bool is_final = true;  ///< false: some points are still to be predicted (status "waiting") or refined

  /// The recommended point, else the closest.
  std::optional<std::size_t> focus() const { return recommended ? recommended : closest; }
};

/// So many machines at most, the best ones, are refined and compared. A plan with an axis of machines compares all.
constexpr std::size_t kMachinesCompared = 12;

/// Shows the results so far: after each finished point for which is_due() is true.
struct PlanWatch {
  std::function<bool()> is_due;
  std::function<void(const PlanResult&)> show;
};

PlanResult work_out(const PlanSpec& plan, Evaluation& evaluation, const PlanWatch& watch = {});

}  // namespace lockstep::sim::plan
