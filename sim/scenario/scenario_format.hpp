#pragma once
// Describes the whole scenario file in one place.
#include <functional>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// A variant as the file lists it.
struct Variant {
  std::string name;
  std::string origin;  ///< "FILE: /variants/0/set", for errors
  std::vector<std::pair<std::string, std::string>> settings;
};

/// The format excludes published results. The variants that they name read them (published_format.hpp).
const ObjectFormat<Scenario>& scenario_format();
/// The variants or jobs of the file; one without name or settings if it lists none.
std::vector<Variant> read_variants(const JsonNode& root);

/// True if the scenario of the file has such an algorithm. Unknown names are left to the reader, which refuses them.
std::function<bool(const Json&)> where_algorithm(const std::function<bool(Algorithm)>& matches_operation);
std::function<bool(const Json&)> where_algorithm(Algorithm wanted);

/// Adds missing members to a scenario, except the baseline.
void fill_defaults(JsonDocument& scenario);
/// Adds a missing baseline: one node of the cluster that results from settings and variants.
void fill_baseline(JsonDocument& scenario);
/// Returns the GPUs per node of the scenario's cluster. If that is not a number, returns 1; the cluster's reader
/// refuses it later.
int gpus_per_node(const Json& scenario);

}  // namespace lockstep::sim::scenario
