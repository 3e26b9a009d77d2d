#pragma once
// Converts a user's launch script or configuration to options of `simulate job`. Nothing is run. Every key of the file
// is read, listed with the reason why it is not, or listed as unknown.
#include <optional>
#include <string>
#include <vector>

#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

struct LaunchRequest {
  std::string path;
  std::optional<LaunchFormat> format;  ///< none: recognised by content
  std::vector<int> gpus;               ///< on the command line; empty: use the file's
  bool needs_global_batch = false;     ///< even if the file gives its parts: micro-batch and accumulation
};

struct LaunchedJob {
  std::string path;
  LaunchFormat format = LaunchFormat::megatron;
  std::string title;  ///< "a shell script with Megatron-LM arguments"
  std::vector<LaunchOption> options;
  LaunchSettings settings;
  std::vector<std::string> notes;
};

/// Throws InputError with file and line if the file cannot be read or parsed, has no known format, or has several. Also
/// throws if sources contradict each other or the model cannot be predicted.
LaunchedJob read_launch(const LaunchRequest& request, const Catalogue& catalogue);
/// Reads a text instead of the file.
LaunchedJob read_launch_text(const std::string& text, const LaunchRequest& request, const Catalogue& catalogue);

/// Writes the options as shell words, except those in `without`: "--model llama3_8b@8192 --gpus 64".
std::string command_text(const std::vector<LaunchOption>& options);

/// "read from train.sh: --model ...", the options that override the file, and what was not read. `overriding`: options
/// of the command line whose values differ from the file's, "--tensor 4 instead of 8 (train.sh:12)".
std::string launch_text(const LaunchedJob& job, const std::vector<std::string>& overriding);
/// Returns the same as JSON: {"file", "format", "options", "overriding", "settings": [{"key", "value", "place", "use",
/// "why"}], "notes"}.
Json launch_json(const LaunchedJob& job, const std::vector<std::string>& overriding);

}  // namespace lockstep::sim::launch
