#include "sim/plan/plan_read.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/text.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr std::size_t kTrials = 64;  // grid points that are tried before a value is refused

bool sets_gpus(const AxisValue& value) {
  return !value.refused.empty() || std::any_of(value.settings.begin(), value.settings.end(), [](const Setting& s) {
    return s.pointer == "/gpus" || s.pointer == "/nodes";
  });
}

bool sets_gpus(const Axis& axis) {
  return std::any_of(axis.values.begin(), axis.values.end(), [](const AxisValue& v) { return sets_gpus(v); });
}

// Refuses values without a number of GPUs, if other values of their axis have one and the scenario lists several.
void refuse_values_without_gpus(const PlanSpec& plan, const Axis& axis) {
  for (const AxisValue& value : axis.values)
    if (!sets_gpus(value))
      throw InputError(plan.path + ": " + value.pointer +
                       ": does not say how many GPUs, as other values of its axis do; allowed: a setting of /gpus or "
                       "/nodes in each of them");
}

// Returns points with which to try a value of an axis. First all other axes have their first values. Then each other
// axis takes each of its values while the rest keep the first. The last points are spread over the grid.
std::vector<std::size_t> trials(const PlanSpec& plan, std::size_t axis, std::size_t value) {
  std::vector<std::size_t> strides(plan.axes.size(), 1);
  for (std::size_t a = plan.axes.size(); a-- > 1;) strides[a - 1] = strides[a] * plan.axes[a].values.size();
  const std::size_t first = value * strides[axis];
  std::vector<std::size_t> points{first};
  for (std::size_t a = 0; a < plan.axes.size(); ++a)
    for (std::size_t v = 1; a != axis && v < plan.axes[a].values.size(); ++v) points.push_back(first + v * strides[a]);
  const std::size_t outer = axis == 0 ? 1 : strides[0] * plan.axes[0].values.size() / (strides[axis - 1]);
  const std::size_t count = outer * strides[axis];
  for (std::size_t i = 0; i < kTrials && i < count; ++i) {
    const std::size_t nth = i * count / std::min(kTrials, count);
    const std::size_t inner = nth % strides[axis], block = nth / strides[axis];
    points.push_back(block * strides[axis] * plan.axes[axis].values.size() + first + inner);
  }
  return points;
}

// Reads points until one can be read. If none can, throws the error of the first.
void read_any(const PlanSpec& plan, const std::vector<std::size_t>& points, ScenariosRead& read) {
  std::string first_error;
  for (std::size_t point : points) {
    const PlanPoint tried = plan.points[point];
    if (!tried.refused.empty()) return;
    try {
      const LoadedScenario loaded = scenario_with(plan, tried.settings);
      read.inputs.insert(loaded.inputs.begin(), loaded.inputs.end());
      const Scenario& scenario = loaded.variants.front();
      if (scenario.parameter_server && scenario.parameter_server->shards_tensors) read.has_servers_of_tensors = true;
      if (plan.work.samples <= 0 && !scenario.convergence)
        throw InputError(plan.path +
                         ": /work: missing, and the scenario has no convergence; allowed: {\"samples\"}, "
                         "{\"epochs\", \"samples_per_epoch\"}, or an object /convergence of the scenario");
      if (plan.searches_splits && !scenario.parallel)
        throw InputError(plan.path +
                         ": /split: the scenario has no /parallel, whose batch a split must keep; allowed: with its "
                         "global_batch");
      return;
    } catch (const InputError& error) {
      if (first_error.empty()) first_error = error.what();
    }
  }
  throw InputError(first_error);
}

}  // namespace

Setting read_setting(const JsonNode& value, const std::string& pointer) {
  const std::string origin = value.document().name() + ": " + value.pointer();
  if (pointer.empty() || pointer[0] != '/')
    throw InputError(
        one_line(origin + ": " + in_quotes(pointer) + " is not a place in the scenario; allowed: /member/member"));
  if (pointer == "/variants" || pointer == "/fidelity" || pointer == "/published" || pointer == "/baseline")
    throw InputError(one_line(origin + ": a plan does not vary " + pointer));
  const std::string folder = std::filesystem::path(value.document().name()).parent_path().string();
  Json json = value.json();
  if (pointer == "/nodes") value.integer(1, kMostGpus);
  if (pointer == "/gpus") {
    if (json.is_array() && json.size() != 1) value.fail("a point has one GPU count", "allowed: a number");
    if (!json.is_array()) json = Json::array({value.integer(1, kMostGpus)});
  }
  return {pointer, json.dump(), origin, folder};
}

std::string with_pointer(const std::string& line, const std::string& file, const std::string& pointer) {
  const std::string start = file + ": /";
  if (line.compare(0, start.size(), start) != 0) return line;
  for (const char* own : {"axes/", "points/"})  // the error already names its place
    if (line.compare(start.size(), std::string(own).size(), own) == 0) return line;
  return file + ": " + pointer + line.substr(start.size() - 1);
}

void complete_axes(const JsonNode& root, PlanSpec& plan) {
  const Json& gpus = plan.scenario->json().value("gpus", Json::array());
  const bool has_one = gpus.is_array() && gpus.size() == 1;
  if (plan.axes.empty() && plan.listed.empty())
    root.fail("no points", "allowed: \"axes\" for a grid, \"points\" for a list, or both");
  for (const AxisValue& point : plan.listed)
    if (!has_one && !sets_gpus(point))
      throw InputError(plan.path + ": " + point.pointer +
                       ": does not say how many GPUs; allowed: a setting of /gpus or /nodes");
  const auto always = [](const Axis& axis) {
    return std::all_of(axis.values.begin(), axis.values.end(), [](const AxisValue& v) { return sets_gpus(v); });
  };
  if (has_one || plan.axes.empty() || std::any_of(plan.axes.begin(), plan.axes.end(), always)) return;
  for (const Axis& axis_of_some : plan.axes)
    if (sets_gpus(axis_of_some)) refuse_values_without_gpus(plan, axis_of_some);
  Axis axis{"GPUs", false, {}};
  for (const Json& count : gpus)
    axis.values.push_back({count.dump(),
                           count,
                           Json::object(),
                           {{"/gpus", "[" + count.dump() + "]", plan.path, ""}},
                           {},
                           "",
                           "/scenario"});
  if (!axis.values.empty()) plan.axes.push_back(axis);
}

ScenariosRead read_all_values(const PlanSpec& plan) {
  ScenariosRead read;
  for (std::size_t axis = 0; axis < plan.axes.size(); ++axis)
    for (std::size_t value = 0; value < plan.axes[axis].values.size(); ++value)
      read_any(plan, trials(plan, axis, value), read);
  for (std::size_t i = 0; i < plan.listed.size(); ++i)
    read_any(plan, {plan.points.size() - plan.listed.size() + i}, read);
  return read;
}

}  // namespace lockstep::sim::plan
