#pragma once
// Writes JSON Schemas and tables for readers, from the descriptions of the scenario's and the cluster's objects.
#include <map>
#include <string>

#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Returns JSON Schemas (draft 2020-12) by "scenario" and "cluster".
std::map<std::string, Json> format_schemas();

/// Returns the tables of sim/scenario/README.md in Markdown, by the names in its marks.
std::map<std::string, std::string> format_tables();

/// Inserts tables into `document`: after every line "<!-- fields: NAME -->", up to "<!-- end -->". Throws
/// std::runtime_error for a name without a table and a mark without an end.
std::string with_tables(const std::string& document);

}  // namespace lockstep::sim::scenario
