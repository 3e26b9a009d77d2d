#pragma once
#include <optional>
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::sim::launch {

/// Whether the text begins and ends like the printed form of a dataclass: "JobConfig(...)".
bool is_python_repr(const std::string& text);

/// Returns the text as a tree: objects by members, tuples as lists. nullopt: the text has another form, or is nested
/// deeper than 32.
std::optional<Json> tree_of_python_repr(const std::string& text);

}  // namespace lockstep::sim::launch
