#pragma once
// Inside of plan_spec.hpp: settings of a plan, and checks that need its scenario.
#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// Makes the setting for a pointer of the scenario. A number of GPUs becomes a list of one. Throws InputError.
Setting read_setting(const JsonNode& value, const std::string& pointer);

/// Inserts a pointer into an error: "FILE: /a: wrong" -> "FILE: /scenario/a: wrong". Other lines stay as they are.
std::string with_pointer(const std::string& line, const std::string& file, const std::string& pointer);

/// Makes an axis of the scenario's numbers of GPUs if nothing else sets the number of GPUs of a point.
void complete_axes(const JsonNode& root, PlanSpec& plan);

/// Refuses values with which the scenario cannot be read, whatever the other axes are. Returns all files that were
/// read.
std::map<std::string, std::string> check_values(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
