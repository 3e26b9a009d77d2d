#pragma once
// Tells configurations from shell scripts, and JSON, YAML, TOML and printed Python objects from each other.
#include <optional>
#include <string>

#include "sim/launch/tree.hpp"

namespace lockstep::sim::launch {

/// Returns the syntax of a configuration; none: a shell script. The name's ending decides. Without one, the first line
/// that is neither empty nor a comment does.
std::optional<TreeSyntax> find_syntax(const std::string& path, const std::string& text);

/// Returns the syntax of a text that is known to be a configuration; YAML if nothing else fits.
TreeSyntax syntax_of(const std::string& path, const std::string& text);

/// Returns the configuration in a line of torchtitan's log, "Running with args: {...}"; none: there is no such line.
std::optional<std::string> find_logged_configuration(const std::string& text);

}  // namespace lockstep::sim::launch
