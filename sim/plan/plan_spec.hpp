#pragma once
// A plan: which configurations are compared, what they cost, and what is wanted. JSON, schema "lockstep/plan/1"; every
// key is described in sim/plan/README.md. Read once, checked once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/failures/failure_spec.hpp"
#include "sim/plan/energy.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::plan {

/// Prices that an axis value or a listed point brings along; they go before the plan's.
struct PriceOverrides {
  std::optional<double> gpu_price_per_s;
  std::optional<double> nic_price_per_s;
  std::optional<double> node_price_per_s;
  std::optional<double> gpu_power_w;
};

/// A price or a power of the GPUs of one kind or one cluster; of all where both names are empty.
struct OfGpu {
  std::string gpu;
  std::string cluster;
  double value = 0;
};

struct PricesSpec {
  std::string currency = "USD";        ///< of all amounts of the plan, the objective's too
  std::vector<OfGpu> gpu_price_per_s;  ///< the first that fits
  double nic_price_per_s = 0;          ///< each NIC
  double node_price_per_s = 0;         ///< each node besides its GPUs: ports of the fabric, host
  std::vector<OfGpu> gpu_power_w;      ///< the first that fits
  double energy_price_per_j = 0;
  std::optional<EnergySpec> energy;  ///< of nodes by their load; none: GPUs by their power alone
  bool bills_whole_nodes = true;     ///< otherwise the GPUs that train
  double uncertainty = 0;            ///< relative, of what all of it costs together
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
  bool is_cautious = false;  ///< deadline and budget must hold at the high bound, not at the predicted value

  bool wants_least_time() const {
    return kind == ObjectiveKind::least_time || kind == ObjectiveKind::least_time_in_budget;
  }
};

/// How much is trained where the scenario has no convergence, or another amount is wanted.
struct WorkSpec {
  double samples = 0;  ///< 0: to the scenario's convergence
};

struct LimitsSpec {
  double memory_bytes = 0;               ///< of a GPU; 0: what the cluster's GPU has
  std::optional<double> reserved_bytes;  ///< of it that the framework takes; none: as the cluster has it
  std::int64_t most_global_batch = 0;    /// up to which the work reaches its target; 0: any
};

struct RefineSpec {
  Fidelity coarse = Fidelity::analytic;
  Fidelity refined = Fidelity::fast;
  double analytic_error = 0.02;  ///< relative; points this close to the frontier are refined with it
  int most = 20;                 ///< of the neighbours; the frontier itself is always refined
  double most_messages = 2e6;    ///< a point that would be replayed by more messages stays in closed form, and says so
};

struct AxisValue {
  std::string name;
  Json shown;                    ///< name, or the plain value where the axis lists values
  Json facets = Json::object();  ///< what a point says of it in its place: {"GPU": "H100", "network": "8x NDR"}
  std::vector<Setting> settings;
  PriceOverrides prices;
  std::string refused;  ///< why its points are refused; empty: they are not
  std::string pointer;  ///< in the plan file, for errors
};

struct Axis {
  std::string name;
  bool has_machines = false;  ///< each value is a machine of its own, and all of them are compared
  std::vector<AxisValue> values;
};

/// One configuration.
struct PlanPoint {
  std::string id;                 ///< "p0001": its number in the plan
  Json setting = Json::object();  ///< axis name -> value shown
  std::vector<Setting> settings;  ///< shallow pointers first, so that a cluster is set before its NICs
  PriceOverrides prices;
  std::string refused;  ///< why it cannot run, whatever its settings; empty: they say
  std::string machine;  ///< the value of the axis of machines; empty: the plan has no such axis
};

struct PlanSpec {
  std::string path;
  Json from;  ///< what `plan job --from` read; null: no file
  std::string name;
  std::string description;
  std::optional<ScenarioTemplate> scenario;
  bool has_own_scenario = false;  ///< it stands in the plan file
  std::vector<Axis> axes;
  std::vector<AxisValue> listed;  ///< points beside the grid
  WorkSpec work;
  PricesSpec prices;
  Objective objective;
  LimitsSpec limits;
  RefineSpec refine;
  std::optional<FailureSpec> failures;  ///< none: nothing interrupts a training, and it writes no checkpoints
  bool ignores_memory = false;          ///< of all points
  bool searches_splits = false;  ///< each point has the fastest of all splits that fit, whatever its scenario says
  std::vector<Assumption> assumptions;  ///< of the plan file itself
  std::map<std::string, std::string> inputs;
  std::string digest;  ///< of the plan, all files that it names, and the program's version: what results depend on
  std::vector<PlanPoint> points;
};

/// The plan's scenario under a point's settings. Throws InputError, also where the settings do not fit each other.
LoadedScenario scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings);

/// The same of one point after the other; stands until the next.
const Scenario& scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings, ScenarioSeries& series);

/// What the points show of an axis, value by value, under one name or several.
std::vector<std::pair<std::string, std::vector<Json>>> shown_of(const std::string& name,
                                                                const std::vector<AxisValue>& values);

/// Reads the plan and its scenario; axis values that no point can be read with are refused here. With `ignores_memory`
/// every point is predicted, whether it fits into a GPU or not. Throws InputError.
PlanSpec load_plan(const std::string& path, bool ignores_memory = false);
/// The same of a plan that was read, or made.
PlanSpec read_plan(JsonDocument document, bool ignores_memory = false);

}  // namespace lockstep::sim::plan
