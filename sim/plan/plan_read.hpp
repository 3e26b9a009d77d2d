#pragma once
// Inside of plan_spec.hpp: settings of a plan, and checks that need its scenario.
#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// A value for a pointer of the scenario. A GPU count is wrapped into the scenario's list. Throws InputError.
Setting read_setting(const JsonNode& value, const std::string& pointer);

/// "FILE: /a: wrong" -> "FILE: /scenario/a: wrong"; other lines as they are.
std::string with_pointer(const std::string& line, const std::string& file, const std::string& pointer);

/// The scenario's GPU counts become an axis where nothing else says how many GPUs a point has.
void complete_axes(const JsonNode& root, PlanSpec& plan);

/// Refuses values that the scenario cannot be read with, whatever the other axes; returns all files read.
std::map<std::string, std::string> check_values(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
