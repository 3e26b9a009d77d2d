#pragma once
#include <optional>
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::sim::launch {

/// Whether the text begins and ends as a dataclass that Python prints: "JobConfig(...)".
bool is_python_repr(const std::string& text);

/// Returns the text's tree: objects by their members, tuples as lists. nullopt: the text is no such print, or is nested
/// deeper than 32.
std::optional<Json> tree_of_python_repr(const std::string& text);

}  // namespace lockstep::sim::launch
