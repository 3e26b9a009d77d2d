#pragma once
// A plan: the configurations to compare, their prices, and the objective. It is JSON with the schema "lockstep/plan/1",
// and sim/plan/README.md describes every key. The plan is read and checked once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/failures/failure_spec.hpp"
#include "sim/plan/energy.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::plan {

/// Prices of an axis value or a listed point. They override the plan's.
struct PriceOverrides {
  std::optional<double> gpu_price_per_s;
  std::optional<double> nic_price_per_s;
  std::optional<double> node_price_per_s;
  std::optional<double> gpu_power_w;
};

/// A price or power for GPUs of one kind or one cluster; if both names are empty, for all GPUs.
struct OfGpu {
  std::string gpu;
  std::string cluster;
  double value = 0;
};

struct PricesSpec {
  std::string currency = "USD";        ///< for all amounts of the plan, including the objective
  std::vector<OfGpu> gpu_price_per_s;  ///< the first match applies
  double nic_price_per_s = 0;          ///< per NIC
  double node_price_per_s = 0;         ///< per node, in addition to its GPUs: ports of the fabric, host
  std::vector<OfGpu> gpu_power_w;      ///< the first match applies
  double energy_price_per_j = 0;
  std::optional<EnergySpec> energy;  ///< power of nodes by their load; none: only GPUs, by their power
  bool bills_whole_nodes = true;     ///< false: only GPUs that train
  double uncertainty = 0;            ///< relative uncertainty of the total cost
};

enum class ObjectiveKind { least_time, least_cost, least_cost_by_deadline, least_time_in_budget };

inline const Choices<ObjectiveKind>& choices_of(ObjectiveKind) {
  static const Choices<ObjectiveKind> all{{ObjectiveKind::least_time, "least-time"},
                                          {ObjectiveKind::least_cost, "least-cost"},
                                          {ObjectiveKind::least_cost_by_deadline, "least-cost-by-deadline"},
                                          {ObjectiveKind::least_time_in_budget, "least-time-in-budget"}};
  return all;
}

struct Objective {
  ObjectiveKind kind = ObjectiveKind::least_time;
  double deadline_s = 0;     ///< for least_cost_by_deadline
  double budget = 0;         ///< for least_time_in_budget
  bool is_cautious = false;  ///< the high end of the interval must meet deadline and budget

  bool wants_least_time() const {
    return kind == ObjectiveKind::least_time || kind == ObjectiveKind::least_time_in_budget;
  }
};

/// The amount of training, if the scenario has no convergence or another amount is requested.
struct WorkSpec {
  double samples = 0;  ///< 0: until the scenario's target
};

struct LimitsSpec {
  double memory_bytes = 0;               ///< per GPU; 0: that of the cluster's GPU
  std::optional<double> reserved_bytes;  ///< by the framework; none: as in the cluster
  std::int64_t most_global_batch = 0;    /// up to which the work reaches its target; 0: any
};

struct RefineSpec {
  Fidelity coarse = Fidelity::analytic;
  Fidelity refined = Fidelity::fast;
  double analytic_error = 0.02;  ///< relative error; points this close to the frontier are refined, too
  int most = 20;                 ///< most neighbours to refine; the frontier itself is always refined
  double most_messages = 2e6;    ///< points with more messages stay in closed form, with a warning
  /// About 15 predictions around the answer stay in closed form if they have more messages than this. They are
  /// what-ifs, other numbers of GPUs, and the parts of an iteration.
  double most_messages_around = 2e6;
};

struct AxisValue {
  std::string name;
  Json shown;                    ///< name, or the value itself if the axis lists values
  Json facets = Json::object();  ///< shown in place of the name: {"GPU": "H100", "network": "8x NDR"}
  std::vector<Setting> settings;
  PriceOverrides prices;
  std::string refused;  ///< why its points are refused; empty: they are not
  std::string pointer;  ///< place in the plan file, for errors
};

struct Axis {
  std::string name;
  bool has_machines = false;  ///< each value is a machine, and all machines are compared
  std::vector<AxisValue> values;
};

/// One configuration of the plan.
struct PlanPoint {
  std::string id;                 ///< its number in the plan, such as "p0001"
  Json setting = Json::object();  ///< axis name -> shown value
  std::vector<Setting> settings;  ///< shallow pointers first, so that a cluster is set before its NICs
  PriceOverrides prices;
  std::string refused;  ///< why it cannot run with these settings; empty: it may
  std::string machine;  ///< value of the axis of machines; empty: there is none
};

/// All points of a plan: every combination of the axes' values (the last axis varies fastest), then the listed points.
/// A point is made when it is asked for, because a plan may have a million.
class PlanPoints {
 public:
  PlanPoints() = default;
  PlanPoints(std::vector<Axis> axes, std::vector<AxisValue> listed);

  std::size_t size() const { return size_; }
  std::size_t listed() const { return listed_.size(); }
  PlanPoint operator[](std::size_t point) const;
  PlanPoint front() const { return (*this)[0]; }
  /// Returns the point that is predicted as number `n`. Neighbours in this order have the same cluster and number of
  /// GPUs where they can, and then the same collectives, so that a process finds each of these once.
  std::size_t in_order(std::size_t n) const;
  /// Returns the scaling curve of each point, numbered from 0. Points that differ only in the number of GPUs have the
  /// same curve.
  std::vector<std::uint32_t> curves() const;

 private:
  std::size_t grid() const { return size_ - listed_.size(); }
  std::size_t value_of(std::size_t point, std::size_t axis) const {
    return point / strides_[axis] % axes_[axis].values.size();
  }

  std::vector<Axis> axes_;
  std::vector<AxisValue> listed_;
  std::vector<std::size_t> strides_;  // points between two values of an axis
  std::vector<std::size_t> order_;    // axes, the slowest one of in_order() first
  std::size_t size_ = 0;
};

struct PlanSpec {
  std::string path;
  Json from;  ///< input of `plan job --from`; null: no file
  std::string name;
  std::string description;
  std::optional<ScenarioTemplate> scenario;
  bool has_own_scenario = false;  ///< the plan file contains the scenario
  std::vector<Axis> axes;
  std::vector<AxisValue> listed;  ///< points listed in addition to the grid
  WorkSpec work;
  PricesSpec prices;
  Objective objective;
  LimitsSpec limits;
  RefineSpec refine;
  std::optional<FailureSpec> failures;  ///< none: no interruptions and no checkpoints
  bool ignores_memory = false;          ///< for all points
  bool searches_splits = false;         ///< each point uses the fastest split that fits, in place of the scenario's
  std::vector<Assumption> assumptions;  ///< in the plan file itself
  std::map<std::string, std::string> inputs;
  std::string digest;  ///< of everything that results depend on: the plan, all its files and the program's version
  PlanPoints points;
};

/// Returns the plan's scenario with a point's settings. Throws InputError, also if the settings contradict each other.
LoadedScenario scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings);

/// Returns the same scenario from a series, which reuses the previous point's. The reference is valid until the next
/// call.
const Scenario& scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings, ScenarioSeries& series);

/// Returns the values that points show for an axis, under one or more names.
std::vector<std::pair<std::string, std::vector<Json>>> shown_of(const std::string& name,
                                                                const std::vector<AxisValue>& values);

/// Reads the plan and its scenario, and refuses axis values with which no point can be read. With `ignores_memory`,
/// points are predicted even if they exceed a GPU's memory. Throws InputError.
PlanSpec load_plan(const std::string& path, bool ignores_memory = false);
/// Does the same for a plan that is already in memory.
PlanSpec read_plan(JsonDocument document, bool ignores_memory = false);

}  // namespace lockstep::sim::plan
