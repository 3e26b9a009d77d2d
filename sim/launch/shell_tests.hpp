#pragma once
// Tests of a shell: "[ ... ]", "[[ ... ]]", patterns of "case".
#include <optional>
#include <string>
#include <vector>

#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

/// `words`: between the brackets, raw. None: it depends on what is not known, such as whether a file is there.
std::optional<bool> value_of_test(const std::vector<std::string>& words, Variables& variables, const Place& place);

/// "*" and "?" alone; a pattern with brackets is compared as text.
bool matches_pattern(const std::string& text, const std::string& pattern);

}  // namespace lockstep::sim::launch
