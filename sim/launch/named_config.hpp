#pragma once
// Reads configurations that another file names.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

/// Appends the settings of the file (JSON or YAML) that a setting names; keys get `prefix`. If the file is missing, the
/// user must give `option` instead.
void append_named_file(LaunchSettings& settings, const std::string& key, const std::string& prefix,
                       const ReadNamedFile& read_named, const std::string& option);

/// Gives --model by a name on the hub or a folder with a config.json. Notes names that are unknown.
void give_named_model(LaunchSettings& settings, Facts& facts, const std::string& key, const Catalogue& catalogue);

std::vector<UnreadKeys> both_tables(const std::vector<UnreadKeys>& a, const std::vector<UnreadKeys>& b);
bool has_any_key(const LaunchSettings& settings, const std::vector<std::string>& keys);

}  // namespace lockstep::sim::launch
