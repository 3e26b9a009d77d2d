#pragma once
// Evaluates a shell's tests: "[ ... ]", "[[ ... ]]", patterns of "case".
#include <optional>
#include <string>
#include <vector>

#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

/// `words`: the raw words between the brackets. None: the result depends on something unknown, such as a file.
/// `is_double`: "[[ ... ]]", which compares with patterns, and takes empty values as 0.
std::optional<bool> value_of_test(const std::vector<std::string>& words, Variables& variables, const Place& place,
                                  bool is_double);

/// False for "[[:alpha:]]" and "@(a|b)", which are not understood.
bool is_known_pattern(const std::string& pattern);
/// Supports "*", "?", "[a-c]", "[!a]" and backslashes.
bool matches_pattern(const std::string& text, const std::string& pattern);

}  // namespace lockstep::sim::launch
