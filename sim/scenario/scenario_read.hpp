#pragma once
// The steps of reading a scenario, for those that read it once and those that read it under many settings.
#include <functional>
#include <map>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Puts in their place the files that the document names.
void include_files(JsonDocument& document);
void apply_setting(JsonDocument& document, const std::string& pointer, const std::string& text,
                   const std::string& origin, const std::string& folder);
/// Reads what `is_read` says of the file's members into `scenario`, which has the others already, and checks all of it.
void read_scenario(const JsonNode& root, const std::string& variant,
                   const std::function<bool(const std::string& key)>& is_read, Scenario& scenario);
Scenario read_scenario(const JsonNode& root, const std::string& variant);
/// Files that the document and the scenario that was read from it rest on.
std::map<std::string, std::string> inputs_of(const JsonDocument& document, const Scenario& scenario);

}  // namespace lockstep::sim::scenario
