#pragma once
// A plan: the configurations to compare, their prices, and the objective. JSON, schema "lockstep/plan/1";
// sim/plan/README.md describes every key. The plan is read and checked once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/failures/failure_spec.hpp"
#include "sim/plan/energy.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::plan {

/// Prices of an axis value or a listed point; they override the plan's.
struct PriceOverrides {
  std::optional<double> gpu_price_per_s;
  std::optional<double> nic_price_per_s;
  std::optional<double> node_price_per_s;
  std::optional<double> gpu_power_w;
};

/// A price or power for GPUs of one kind or one cluster; for all GPUs if both names are empty.
struct OfGpu {
  std::string gpu;
  std::string cluster;
  double value = 0;
};

struct PricesSpec {
  std::string currency = "USD";        ///< for all amounts of the plan, including the objective
  std::vector<OfGpu> gpu_price_per_s;  ///< the first match counts
  double nic_price_per_s = 0;          ///< per NIC
  double node_price_per_s = 0;         ///< per node, in addition to its GPUs: ports of the fabric, host
  std::vector<OfGpu> gpu_power_w;      ///< the first match counts
  double energy_price_per_j = 0;
  std::optional<EnergySpec> energy;  ///< nodes by their load; none: GPUs by their power only
  bool bills_whole_nodes = true;     ///< false: only GPUs that train
  double uncertainty = 0;            ///< relative, of the total cost
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
  double deadline_s = 0;     ///< least_cost_by_deadline
  double budget = 0;         ///< least_time_in_budget
  bool is_cautious = false;  ///< deadline and budget must hold at the high end of the interval

  bool wants_least_time() const {
    return kind == ObjectiveKind::least_time || kind == ObjectiveKind::least_time_in_budget;
  }
};

/// How much is trained, if the scenario has no convergence or another amount is requested.
struct WorkSpec {
  double samples = 0;  ///< 0: until the scenario's target
};

struct LimitsSpec {
  double memory_bytes = 0;               ///< per GPU; 0: as the cluster's GPU has
  std::optional<double> reserved_bytes;  ///< by the framework; none: as in the cluster
  std::int64_t most_global_batch = 0;    /// up to which the work reaches its target; 0: any
};

struct RefineSpec {
  Fidelity coarse = Fidelity::analytic;
  Fidelity refined = Fidelity::fast;
  double analytic_error = 0.02;  ///< relative; points this close to the frontier are refined, too
  int most = 20;                 ///< most neighbours to refine; the frontier itself is always refined
  double most_messages = 2e6;    ///< points with more messages stay in closed form, with a warning
};

struct AxisValue {
  std::string name;
  Json shown;                    ///< name, or the value itself if the axis lists values
  Json facets = Json::object();  ///< shown in place of the name: {"GPU": "H100", "network": "8x NDR"}
  std::vector<Setting> settings;
  PriceOverrides prices;
  std::string refused;  ///< why its points are refused; empty: they are valid
  std::string pointer;  ///< in the plan file, for errors
};

struct Axis {
  std::string name;
  bool has_machines = false;  ///< each value is a machine, and all machines are compared
  std::vector<AxisValue> values;
};

/// One configuration of the plan.
struct PlanPoint {
  std::string id;                 ///< "p0001": its number in the plan
  Json setting = Json::object();  ///< axis name -> value shown
  std::vector<Setting> settings;  ///< shallow pointers first, so that a cluster is set before its NICs
  PriceOverrides prices;
  std::string refused;  ///< why it cannot run with any settings; empty: it may run
  std::string machine;  ///< the value of the axis of machines; empty: there is no such axis
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
  bool searches_splits = false;         ///< each point uses the fastest split that fits, not the scenario's
  std::vector<Assumption> assumptions;  ///< of the plan file itself
  std::map<std::string, std::string> inputs;
  std::string digest;  ///< of the plan, all its files and the program's version: everything that results depend on
  std::vector<PlanPoint> points;
};

/// The plan's scenario with a point's settings. Throws InputError, also if the settings contradict each other.
LoadedScenario scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings);

/// The same for one point after the other. The reference is valid until the next call.
const Scenario& scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings, ScenarioSeries& series);

/// The values that points show for an axis, under one or more names.
std::vector<std::pair<std::string, std::vector<Json>>> shown_of(const std::string& name,
                                                                const std::vector<AxisValue>& values);

/// Reads the plan and its scenario, and refuses axis values with which no point can be read. `ignores_memory` predicts
/// every point, whether it fits into a GPU or not. Throws InputError.
PlanSpec load_plan(const std::string& path, bool ignores_memory = false);
/// The same for a plan that was already read, or made.
PlanSpec read_plan(JsonDocument document, bool ignores_memory = false);

}  // namespace lockstep::sim::plan
