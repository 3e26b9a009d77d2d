#include "sim/plan/grid.hpp"

#include <algorithm>

#include "engine/base/format_printf.hpp"

namespace lockstep::sim::plan {
namespace {

void add(PlanPoint& point, const std::string& name, const AxisValue& value) {
  if (value.facets.empty()) point.setting[name] = value.shown;
  for (const auto& facet : value.facets.items()) point.setting[facet.key()] = facet.value();
  if (point.refused.empty()) point.refused = value.refused;
  point.settings.insert(point.settings.end(), value.settings.begin(), value.settings.end());
  const auto override_with = [](std::optional<double>& mine, const std::optional<double>& other) {
    if (other) mine = other;
  };
  override_with(point.prices.gpu_price_per_s, value.prices.gpu_price_per_s);
  override_with(point.prices.nic_price_per_s, value.prices.nic_price_per_s);
  override_with(point.prices.node_price_per_s, value.prices.node_price_per_s);
  override_with(point.prices.gpu_power_w, value.prices.gpu_power_w);
}

std::size_t grid_size(const PlanSpec& plan) {
  std::size_t size = plan.axes.empty() ? 0 : 1;
  for (const Axis& axis : plan.axes) {
    size *= axis.values.size();
    if (size + plan.listed.size() > kMostPoints)
      throw InputError(plan.path + ": /axes: more than " + std::to_string(kMostPoints) +
                       " points; allowed: fewer values or axes");
  }
  return size;
}

void finish(PlanPoint& point, std::size_t index, std::size_t count) {
  point.id = format_printf("p%0*zu", static_cast<int>(std::to_string(count).size()), index + 1);
  const auto depth = [](const Setting& s) { return std::count(s.pointer.begin(), s.pointer.end(), '/'); };
  std::stable_sort(point.settings.begin(), point.settings.end(),
                   [&](const Setting& a, const Setting& b) { return depth(a) < depth(b); });
}

}  // namespace

std::vector<PlanPoint> grid_points(const PlanSpec& plan) {
  const std::size_t size = grid_size(plan), count = size + plan.listed.size();
  std::vector<PlanPoint> points(count);
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t stride = size;
    for (const Axis& axis : plan.axes) {
      stride /= axis.values.size();
      const AxisValue& value = axis.values[i / stride % axis.values.size()];
      add(points[i], axis.name, value);
      if (axis.has_machines) points[i].machine += value.name + "\n";
    }
  }
  for (std::size_t i = 0; i < plan.listed.size(); ++i) {
    add(points[size + i], "point", plan.listed[i]);
  }
  for (std::size_t i = 0; i < count; ++i) finish(points[i], i, count);
  return points;
}

std::vector<Setting> without_gpus(const std::vector<Setting>& settings) {
  std::vector<Setting> rest;
  for (const Setting& s : settings)
    if (s.pointer != "/gpus" && s.pointer != "/nodes") rest.push_back(s);
  return rest;
}

std::string curve_key(const PlanPoint& point) {
  std::string key;
  for (const Setting& s : without_gpus(point.settings)) key += s.pointer + "=" + s.text + "\n";
  return key;
}

}  // namespace lockstep::sim::plan
