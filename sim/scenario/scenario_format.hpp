#pragma once
// The whole scenario file, described once.
#include <functional>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// A variant as the file lists it.
struct Variant {
  std::string name;
  std::string origin;  ///< "FILE: /variants/0/set", for errors
  std::vector<std::pair<std::string, std::string>> settings;
};

/// The format leaves out published results. They are read by the variants that they name (published_format.hpp).
const ObjectFormat<Scenario>& scenario_format();
std::vector<Variant> read_variants(const JsonNode& root);

/// Whether a scenario as the file has it is of such an algorithm; a name that is none is left for the reader to refuse.
std::function<bool(const Json&)> where_algorithm(const std::function<bool(Algorithm)>& is_such);
std::function<bool(const Json&)> where_algorithm(Algorithm wanted);

/// Adds to a scenario what it leaves out, all but the baseline.
void fill_defaults(JsonDocument& scenario);
/// The baseline, where the scenario names none: one node of the cluster that settings and variants have left in place.
void fill_baseline(JsonDocument& scenario);
/// Returns the GPUs per node of the scenario's cluster. If that is not a number, returns 1; the cluster's reader
/// refuses it later.
int gpus_per_node(const Json& scenario);

}  // namespace lockstep::sim::scenario
