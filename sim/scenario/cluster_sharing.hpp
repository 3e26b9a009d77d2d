#pragma once
// Reads the jobs of a scenario that share its cluster, each of them as a variant that runs on nodes of its own, and
// background traffic.
#include "sim/scenario/scenario_format.hpp"

namespace lockstep::sim::scenario {

const ObjectFormat<BackgroundSpec>& background_format();
/// Describes an entry of "jobs".
Json job_schema();
std::string job_table();

/// Reads "jobs". Jobs that do not list their nodes take the lowest free ones, in the order of the file. Throws InputError
/// for nodes that two jobs use.
std::vector<Variant> read_jobs(const JsonNode& jobs, const Json& scenario);

}  // namespace lockstep::sim::scenario
