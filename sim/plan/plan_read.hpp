#pragma once
// Settings of a plan, and checks that need its scenario; for use inside plan_spec only.
#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// Makes the setting for a pointer of the scenario. A number of GPUs becomes a list with one entry. Throws InputError.
Setting read_setting(const JsonNode& value, const std::string& pointer);

/// Inserts a pointer into an error: "FILE: /a: wrong" -> "FILE: /scenario/a: wrong". Other lines are unchanged.
std::string with_pointer(const std::string& line, const std::string& file, const std::string& pointer);

/// If nothing else sets the points' number of GPUs, makes the scenario's numbers of GPUs an axis.
void complete_axes(const JsonNode& root, PlanSpec& plan);

/// Refuses values with which the scenario cannot be read for any values of the other axes. Returns all files that were
/// read.
std::map<std::string, std::string> check_values(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
