#include "sim/plan/grid.hpp"

#include <algorithm>
#include <map>

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

void check_size(const PlanSpec& plan) {
  std::size_t size = plan.axes.empty() ? 0 : 1;
  for (const Axis& axis : plan.axes) {
    size *= axis.values.size();
    if (size + plan.listed.size() > kMostPoints)
      throw InputError(plan.path + ": /axes: more than " + std::to_string(kMostPoints) +
                       " points; allowed: fewer values or axes");
  }
}

void finish(PlanPoint& point, std::size_t index, std::size_t count) {
  point.id = format_printf("p%0*zu", static_cast<int>(std::to_string(count).size()), index + 1);
  const auto depth = [](const Setting& s) { return std::count(s.pointer.begin(), s.pointer.end(), '/'); };
  std::stable_sort(point.settings.begin(), point.settings.end(),
                   [&](const Setting& a, const Setting& b) { return depth(a) < depth(b); });
}

// Puts clusters first, then numbers of GPUs, then all other axes. Batches come last, because they change no collective.
int place_in_order(const Axis& axis) {
  const auto sets = [&](const char* start) {
    return std::any_of(axis.values.begin(), axis.values.end(), [&](const AxisValue& value) {
      return std::any_of(value.settings.begin(), value.settings.end(),
                         [&](const Setting& s) { return s.pointer.rfind(start, 0) == 0; });
    });
  };
  if (sets("/cluster")) return 0;
  if (sets("/gpus") || sets("/nodes")) return 1;
  return sets(kBatchPointer) ? 3 : 2;
}

// Returns a text that identifies the settings of a scaling curve.
std::string curve_key(const std::vector<Setting>& settings) {
  std::string key;
  for (const Setting& s : without_gpus(settings)) key += s.pointer + "=" + s.text + "\n";
  return key;
}

// Numbers texts in the order in which they are first seen.
class Numbers {
 public:
  std::uint32_t of(const std::string& text) {
    return numbers_.emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace

PlanPoints::PlanPoints(std::vector<Axis> axes, std::vector<AxisValue> listed)
    : axes_(std::move(axes)), listed_(std::move(listed)), strides_(axes_.size()) {
  std::size_t stride = axes_.empty() ? 0 : 1;
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    strides_[axis] = stride;
    stride *= axes_[axis].values.size();
  }
  size_ = stride + listed_.size();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) order_.push_back(axis);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return place_in_order(axes_[a]) < place_in_order(axes_[b]); });
}

std::size_t PlanPoints::in_order(std::size_t n) const {
  if (n >= grid()) return n;
  std::size_t point = 0;
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::size_t values = axes_[order_[i]].values.size();
    point += n % values * strides_[order_[i]];
    n /= values;
  }
  return point;
}

PlanPoint PlanPoints::operator[](std::size_t index) const {
  PlanPoint point;
  if (index < grid()) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const AxisValue& value = axes_[axis].values[value_of(index, axis)];
      add(point, axes_[axis].name, value);
      if (axes_[axis].has_machines) point.machine += value.name + "\n";
    }
  } else {
    add(point, "point", listed_.at(index - grid()));
  }
  finish(point, index, size_);
  return point;
}

std::vector<std::uint32_t> PlanPoints::curves() const {
  std::vector<std::uint32_t> curves(size_);
  if (!listed_.empty()) {  // a listed point may continue any curve; such plans are written by hand, and small
    Numbers numbers;
    for (std::size_t i = 0; i < size_; ++i) curves[i] = numbers.of(curve_key((*this)[i].settings));
    return curves;
  }
  std::uint32_t stride = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    Numbers numbers;
    std::vector<std::uint32_t> of_value;
    for (const AxisValue& value : axes_[axis].values) of_value.push_back(numbers.of(curve_key(value.settings)));
    for (std::size_t i = 0; i < size_; ++i) curves[i] += stride * of_value[value_of(i, axis)];
    stride *= numbers.size();
  }
  return curves;
}

PlanPoints grid_points(const PlanSpec& plan) {
  check_size(plan);
  return {plan.axes, plan.listed};
}

std::vector<Setting> without_gpus(const std::vector<Setting>& settings) {
  std::vector<Setting> rest;
  for (const Setting& s : settings)
    if (s.pointer != "/gpus" && s.pointer != "/nodes") rest.push_back(s);
  return rest;
}

}  // namespace lockstep::sim::plan
