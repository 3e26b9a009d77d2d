#pragma once
// Evaluates a shell's tests: "[ ... ]", "[[ ... ]]", patterns of "case".
#include <optional>
#include <string>
#include <vector>

#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

/// `words`: the raw words between the brackets. None: the result depends on something unknown, such as a file.
std::optional<bool> value_of_test(const std::vector<std::string>& words, Variables& variables, const Place& place);

/// Supports "*" and "?" only; a pattern with brackets is compared as text.
bool matches_pattern(const std::string& text, const std::string& pattern);

}  // namespace lockstep::sim::launch
