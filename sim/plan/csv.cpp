#include <algorithm>

#include "engine/base/printing.hpp"
#include "engine/base/rounded_json.hpp"
#include "sim/plan/plan_result.hpp"

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

}  // namespace

std::string plan_csv(const PlanResult& result) {
  std::vector<std::string> axes, keys;
  for (const PlanRow& row : result.rows) {
    const Json setting = row.setting();
    for (const auto& [axis, value] : setting.items())
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  const Json first = point_json(*result.plan, result.rows.at(0));
  for (const auto& [key, value] : first.items())
    if (key != "setting" && key != "memory") keys.push_back(key);
  std::string text = "id";
  for (const std::string& axis : axes) text += "," + for_csv("setting/" + axis);
  for (const std::string& key : keys) text += key == "id" ? "" : "," + for_csv(key);
  text += "\n";
  for (const PlanRow& row : result.rows) {
    const Json point = rounded(point_json(*result.plan, row));
    text += cell(point.at("id"));
    for (const std::string& axis : axes) text += "," + cell(point.at("setting").value(axis, Json(nullptr)));
    for (const std::string& key : keys)
      if (key != "id") text += "," + cell(point.at(key));
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::sim::plan
