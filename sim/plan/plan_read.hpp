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

/// Holds what read_all_values() finds.
struct ScenariosRead {
  std::map<std::string, std::string> inputs;  ///< all files that were read, with their digests
  bool has_servers_of_tensors = false;        ///< a parameter server holds whole tensors in one of them
};

/// Reads the scenario with every value of every axis and for every listed point. Throws InputError for a value with
/// which the scenario cannot be read, whatever the values of the other axes.
ScenariosRead read_all_values(const PlanSpec& plan);

}  // namespace lockstep::sim::plan
