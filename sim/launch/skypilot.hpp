#pragma once
// Reads SkyPilot's task files, which give resources and nodes for a shell script (docs.skypilot.co, "SkyPilot YAML").
#include <map>
#include <string>
#include <vector>

#include "sim/launch/settings.hpp"
#include "sim/launch/shell.hpp"

namespace lockstep::sim::launch {

struct SkyTask {
  std::string script;                       ///< "run", after as many newlines as make the file's line numbers
  LaunchSettings settings;                  ///< keys such as "sky.num_nodes"
  std::map<std::string, Word> environment;  ///< "envs", and the variables that SkyPilot sets
};

bool is_sky_task(const LaunchSettings& settings);
/// Throws InputError if a task has no "run".
SkyTask read_sky_task(const LaunchSettings& settings);
/// Keys of a task that are not read, with reasons.
const std::vector<UnreadKeys>& sky_unread();

}  // namespace lockstep::sim::launch
