#pragma once
// A file of another of the project's formats is refused with the command that reads it.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::api {

/// What a file is by its schema, and the command that takes it; FILE stands for its path.
inline const std::vector<std::pair<std::string, std::string>>& formats_by_schema() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"lockstep/plan/", "a plan; allowed: plan FILE"},
      {"lockstep/profile/",
       "a profile; allowed: calibrate scenario FILE -o SCENARIO.json, then simulate SCENARIO.json"},
      {"lockstep/predictions/", "an answer of simulate job; allowed: a scenario, which simulate job --scenario writes"},
      {"lockstep/result/", "a result of simulate; allowed: the scenario that it is of"},
      {"lockstep/cluster/", "a cluster; allowed: a scenario that names it as its \"cluster\""}};
  return all;
}

/// The object that a regular file holds; null: there is none. A pipe cannot be read twice.
inline Json object_in(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return nullptr;
  try {
    const Json json = JsonDocument::load(path).json();
    return json.is_object() ? json : Json();
  } catch (const InputError&) {
    return nullptr;
  }
}

/// Called where a file could not be read as what a program takes. Throws InputError if its schema is another of the
/// project's.
inline void refuse_other_format(const std::string& path) {
  const Json json = object_in(path);
  const std::string schema = json.is_object() && json.contains("schema") && json.at("schema").is_string()
                                 ? json.at("schema").get<std::string>()
                                 : "";
  for (const auto& [start, text] : formats_by_schema()) {
    if (schema.compare(0, start.size(), start) != 0) continue;
    std::string what = text;
    const std::size_t at = what.find("FILE");
    if (at != std::string::npos) what.replace(at, 4, path);
    throw InputError(path + ": this is " + what);
  }
}

/// The same for a program that takes plans: not every scenario has a schema, but each has a model and a cluster.
inline void refuse_scenario(const std::string& path) {
  const Json json = object_in(path);
  if (json.is_object() && json.contains("model") && json.contains("cluster"))
    throw InputError(path + ": this is a scenario; allowed: simulate " + path);
}

}  // namespace lockstep::sim::api
