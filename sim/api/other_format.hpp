#pragma once
// A file of another of the project's formats is refused with the command that reads it.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/base/unknown_argument.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::api {

/// By the start of its schema: the description of a file and the command that reads it. FILE stands for the path.
inline std::vector<std::pair<std::string, std::string>> formats_by_schema() {
  const std::string simulate = command_of_program("simulate");
  return {{"lockstep/plan/", "a plan; allowed: " + command_of_program("plan") + " FILE"},
          {"lockstep/profile/", "a profile; allowed: " + command_of_program("calibrate") +
                                    " scenario FILE -o SCENARIO.json, then " + simulate + " SCENARIO.json"},
          {"lockstep/predictions/", "predictions of " + simulate + " job; write a scenario with " + simulate +
                                        " job ... --scenario SCENARIO.json, then: " + simulate + " SCENARIO.json"},
          {"lockstep/result/", "a result of " + simulate + "; allowed: the scenario that produced it"},
          {"lockstep/plan-result/", "a result of plan; allowed: a scenario"},
          {"lockstep/cluster/", "a cluster file; pass a scenario whose key \"cluster\" is \"FILE\""}};
}

/// The JSON object in a regular file, else null. A pipe gives null, since it can be read only once.
inline Json read_json_object(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return nullptr;
  try {
    const Json json = JsonDocument::load(path).json();
    return json.is_object() ? json : Json();
  } catch (const InputError&) {
    return nullptr;
  }
}

/// Call it after a file could not be read as a scenario. Throws InputError if its schema is another of the project's.
inline void refuse_other_format(const std::string& path) {
  const Json json = read_json_object(path);
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

/// Call it after a file could not be read as a plan. Throws InputError if it is a scenario, which has a model and a cluster
/// and need not have a schema.
inline void refuse_scenario(const std::string& path) {
  const Json json = read_json_object(path);
  if (json.is_object() && json.contains("model") && json.contains("cluster"))
    throw InputError(path + ": this is a scenario; allowed: " + command_of_program("simulate") + " " + path);
}

}  // namespace lockstep::sim::api
