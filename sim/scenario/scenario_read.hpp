#pragma once
// The steps of reading a scenario, for code that reads it once or under many settings.
#include <functional>
#include <map>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Replaces the names of files in the document by their content.
void include_files(JsonDocument& document);
void apply_setting(JsonDocument& document, const std::string& pointer, const std::string& text,
                   const std::string& origin, const std::string& folder);
/// Reads the members of the file for which `is_read` is true into `scenario`, which has the others already. Checks all.
void read_scenario(const JsonNode& root, const std::string& variant,
                   const std::function<bool(const std::string& key)>& is_read, Scenario& scenario);
Scenario read_scenario(const JsonNode& root, const std::string& variant);
/// The files on which the document and the scenario read from it depend.
std::map<std::string, std::string> inputs_of(const JsonDocument& document, const Scenario& scenario);

}  // namespace lockstep::sim::scenario
