#pragma once
// Flattens configurations (JSON, YAML, TOML) to settings: "parallelism.tensor_parallel_degree". A list of scalars is
// one setting. Objects in a list have their index in the key: "datasets.0.path".
#include <string>

#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

enum class TreeSyntax { json, yaml, toml };

/// Throws InputError with `name` if the text cannot be parsed, is nested deeper than 32, or has more than 20,000
/// values. YAML aliases count at each use.
LaunchSettings read_tree(const std::string& text, const std::string& name, TreeSyntax syntax);

/// Chooses the syntax by the file name's ending, or else by the beginning of the text.
TreeSyntax syntax_of(const std::string& path, const std::string& text);

}  // namespace lockstep::sim::launch
