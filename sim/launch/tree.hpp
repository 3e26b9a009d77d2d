#pragma once
// Configurations as trees (JSON, YAML, TOML) flattened to settings: "parallelism.tensor_parallel_degree". A list of scalars is
// one setting; objects in a list have their place in the key, "datasets.0.path".
#include <string>

#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

enum class TreeSyntax { json, yaml, toml };

/// Throws InputError, which begins with `name`, if the text cannot be parsed, is nested deeper than 32, or has more
/// than 20,000 values. Aliases of YAML count each time they are used.
LaunchSettings read_tree(const std::string& text, const std::string& name, TreeSyntax syntax);

/// Chooses the syntax by the name's ending, or else by the beginning of the text.
TreeSyntax syntax_of(const std::string& path, const std::string& text);

}  // namespace lockstep::sim::launch
