#pragma once
// Flattens configurations (JSON, YAML, TOML, printed Python objects) to settings: "parallelism.tensor_parallel_degree". A list of scalars is
// one setting. Objects in a list have their index in the key: "datasets.0.path".
#include <string>

#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

enum class TreeSyntax { json, yaml, toml, python };

/// Reads the keys without replacing their references.
LaunchSettings read_tree_as_written(const std::string& text, const std::string& name, TreeSyntax syntax);

/// Throws InputError with `name` if the text cannot be parsed, is nested deeper than 32, or has more than 20,000
/// values, or if YAML has several documents. YAML aliases count at each use; merge keys ("<<") are followed.
/// `overrides`: settings that follow those of the text, and that its references ("${trainer.devices}") see.
LaunchSettings read_tree(const std::string& text, const std::string& name, TreeSyntax syntax,
                         const LaunchSettings& overrides = {});

}  // namespace lockstep::sim::launch
