#pragma once
// Finds the commands of a script that start a training, each with its arguments and the configuration that it names.
#include "sim/launch/from_file.hpp"
#include "sim/launch/launch_line.hpp"

namespace lockstep::sim::launch {

/// A command that starts a training, with everything that the script gives for it.
struct Candidate {
  LaunchLine line;
  LaunchSettings settings;
  const LaunchReader* reader = nullptr;
  /// Names a configuration that cannot be read, so that precision, sharding and recomputation are uncertain.
  std::optional<LaunchSetting> missing_configuration = std::nullopt;
};

/// Returns the readers that recognise the settings, or the one of the forced format.
std::vector<const LaunchReader*> recognisers_of(const LaunchSettings& settings,
                                                const std::optional<LaunchFormat>& forced);

/// Returns the only reader. Throws InputError if there is none or several.
const LaunchReader& only_reader(const std::vector<const LaunchReader*>& found, const std::string& path);

/// "megatron, deepspeed, ...".
std::string format_list();

/// Returns the script's trainings in order; empty: none. Throws InputError if a framework's command names a
/// configuration that is not there.
std::vector<Candidate> find_candidates(const LaunchRequest& request, const ShellScript& script,
                                       const ReadNamedFile& read_named);

}  // namespace lockstep::sim::launch
