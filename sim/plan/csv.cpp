#include <algorithm>

#include "engine/base/printing.hpp"
#include "engine/base/rounded_json.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan/row_writer.hpp"

namespace lockstep::sim::plan {
namespace {

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return for_csv(value.get<std::string>());
  if (!value.is_array()) return for_csv(value.dump());
  std::string lines;
  for (const Json& line : value) lines += (lines.empty() ? "" : "; ") + line.get<std::string>();
  return for_csv(lines);
}

// Returns the names of the axes that points show, in the order in which points first have them.
std::vector<std::string> axes_of(const PlanResult& result) {
  std::vector<std::string> axes;
  const PlanPoints& points = result.plan->points;
  const std::size_t grid = points.size() - points.listed();
  bool has_split = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_first_split = !has_split && result.rows.state(i).has_split;
    has_split = has_split || is_first_split;
    if (i > 0 && i < grid && !is_first_split) continue;  // all points of the grid have the same axes
    const Json setting = result.rows[i].setting();
    for (const auto& [axis, value] : setting.items())
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

void write_plan_csv(const PlanResult& result, int jobs, const std::function<void(const std::string& piece)>& write) {
  const std::vector<std::string> axes = axes_of(result);
  std::vector<std::string> keys;
  const Json first = point_json(*result.plan, result.rows[0]);
  for (const auto& [key, value] : first.items())
    if (key != "setting" && key != "memory" && key != "id") keys.push_back(key);
  std::string head = "id";
  for (const std::string& axis : axes) head += "," + for_csv("setting/" + axis);
  for (const std::string& key : keys) head += "," + for_csv(key);
  write(head + "\n");
  const auto text_of_rows = [&](std::size_t from, std::size_t until) {
    std::string text;
    for (std::size_t row = from; row < until; ++row) {
      const Json point = rounded(point_json(*result.plan, result.rows[row]));
      text += cell(point.at("id"));
      for (const std::string& axis : axes) text += "," + cell(point.at("setting").value(axis, Json(nullptr)));
      for (const std::string& key : keys) text += "," + cell(point.at(key));
      text += "\n";
    }
    return text;
  };
  write_rows(result.rows.size(), jobs, text_of_rows, write);
}

std::string plan_csv(const PlanResult& result) {
  std::string text;
  write_plan_csv(result, 0, [&](const std::string& piece) { text += piece; });
  return text;
}

}  // namespace lockstep::sim::plan
